import { expect, onTestFinished, test } from 'vitest'
import { command, environment } from '#test/command.ts'
import { fakeGateway, ok, refusal, type Script } from '#test/fake-gateway.ts'

async function start(script: Script) {
  const gateway = await fakeGateway(script)
  onTestFinished(() => gateway.close())
  return { gateway, env: environment(gateway) }
}

const PROFILE = {
  ...{ esimTranNo: 'E1', iccid: '89999', packageCode: 'JP_1_7', esimStatus: 'IN_USE', smdpStatus: 'ENABLED' },
  ...{ orderUsage: null, totalVolume: null, createTime: null, expiredTime: null },
}

test('each command of `test` calls its operation', async () => {
  const order = { orderNo: 'O1', orderStatus: 'FAILED', refundedAmount: 45_000, currencyCode: 'USD' }
  const answers: Record<string, object> = {
    'test/balance/set': { balance: 250_000, currencyCode: 'USD' },
    'test/esim/update': PROFILE,
    'test/order/resolve': order,
  }
  const { gateway, env } = await start((operation) => ok(answers[operation]!))
  expect((await command(['test', 'balance', '25'], { env })).out).toContain('25.00 USD')
  expect((await command(['test', 'usage', 'E1', '80%'], { env })).out).toContain('IN_USE')
  await command(['test', 'usage', 'E1', '5000'], { env })
  await command(['test', 'state', 'E1', 'ENABLED'], { env })
  expect((await command(['test', 'resolve', 'O1', 'REFUSED'], { env })).out).toContain('FAILED')
  expect(gateway.seen.map(({ body }) => body)).toEqual([
    { balance: 250_000 },
    { esimTranNo: 'E1', usedPercent: 80 },
    { esimTranNo: 'E1', orderUsage: 5_000 },
    { esimTranNo: 'E1', smdpStatus: 'ENABLED' },
    { orderNo: 'O1', outcome: 'REFUSED' },
  ])
  expect((await command(['test', 'usage', 'E1', '1001%'], { env })).code).toBe(2)
  expect((await command(['test', 'state', 'E1', 'LOST'], { env })).code).toBe(2)
})

test('`test advance` asks for the test time first, and a repeat after a lost answer moves nothing', async () => {
  let time = '2026-11-20T00:00:00.000Z'
  const { gateway, env } = await start((_operation, body) => {
    const { fromTime } = body as { fromTime: string }
    if (fromTime !== time) return { status: 422, body: { code: '200005', message: 'moved', data: { current: time } } }
    time = '2026-11-27T00:00:00.000Z'
    return 'break'
  })
  const { code, err } = await command(['test', 'advance', '7d', '--retries', '1'], { env })
  expect([code, err]).toEqual([3, expect.stringContaining('200005')])
  const times = gateway.seen.map(({ body }) => (body as { fromTime: string }).fromTime)
  expect(times).toEqual(['1970-01-01T00:00:00.000Z', '2026-11-20T00:00:00.000Z', '2026-11-20T00:00:00.000Z'])
  expect((await command(['test', 'advance', '8785h'], { env })).code).toBe(2)
})

test('elsewhere than on a test account, `test` fails with 000109', async () => {
  const { env } = await start(() => refusal(404, '000109'))
  expect((await command(['test', 'balance', '25'], { env })).err).toContain('000109')
})
