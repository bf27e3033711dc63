import { expect, onTestFinished, test } from 'vitest'
import { command, environment } from '#test/command.ts'
import { fakeGateway, ok, refusal } from '#test/fake-gateway.ts'

const ACTION = {
  ...{ actionNo: 'A1', transactionId: 'C-1', startedBy: 'DEALER', action: 'CANCEL', esimTranNo: 'E1', iccid: '8900' },
  ...{ orderNo: 'O1', actionStatus: 'PENDING', refundAmount: 0, feeAmount: 0, currencyCode: 'USD' },
  ...{ failureReason: null, createTime: '2026-11-20T13:40:00.000Z', lastUpdateTime: '2026-11-20T13:40:00.000Z' },
}

async function start(answer: Parameters<typeof fakeGateway>[0]) {
  const gateway = await fakeGateway(answer)
  onTestFinished(() => gateway.close())
  return { gateway, input: { env: environment(gateway) } }
}

test.each(['cancel', 'suspend', 'unsuspend', 'revoke'])(
  '%s posts its action and says how to check the outcome',
  async (name) => {
    const { gateway, input } = await start(() => ok(ACTION))
    const { code, out } = await command([name, 'E1', '--transaction-id', 'C-1', '--reason', 'lost'], input)
    expect([code, out]).toEqual([0, expect.stringContaining('Next: dealer-esim action A1')])
    const request = { transactionId: 'C-1', action: name.toUpperCase(), esimTranNo: 'E1', reason: 'lost' }
    expect(gateway.seen).toMatchObject([{ operation: `esim/${name}`, body: request }])
  },
)

test('an action identifies its eSIM by esimTranNo or ICCID, and shows the transactionId that it generates', async () => {
  const { gateway, input } = await start(() => ok(ACTION))
  expect((await command(['cancel'], input)).code).toBe(2)
  const { err } = await command(['cancel', '--iccid', '8900'], input)
  const [, transactionId] = /^transactionId (\S+)$/m.exec(err) ?? []
  expect(gateway.seen).toMatchObject([{ body: { transactionId, action: 'CANCEL', iccid: '8900' } }])
})

test('action shows an action’s outcome, refund and fee', async () => {
  const done = { ...ACTION, actionStatus: 'DONE', refundAmount: 40_500, feeAmount: 4_500 }
  const { gateway, input } = await start(() => ok(done))
  const { out } = await command(['action', '--transaction-id', 'C-1'], input)
  expect(out).toMatch(/^Refunded +4\.05 USD\nFee +0\.45 USD$/m)
  expect(JSON.parse((await command(['action', 'A1', '--json'], input)).out)).toEqual(done)
  expect(gateway.seen.map(({ body }) => body)).toEqual([{ transactionId: 'C-1' }, { actionNo: 'A1' }])
  expect((await command(['action'], input)).code).toBe(2)
})

test('an action without an answer exits with status 3, because its outcome is unknown', async () => {
  const { input } = await start(() => refusal(500, '000001'))
  expect((await command(['cancel', 'E1', '--transaction-id', 'C-1', '--retries', '0'], input)).code).toBe(3)
})

const TOPUP = {
  ...{ orderNo: 'O1', transactionId: 'T-1', orderType: 'TOPUP', esimTranNo: 'E1', orderStatus: 'PAID', amount: 45_000 },
  ...{ currencyCode: 'USD', balanceAfter: 55_000, packageInfoList: [] },
}

test('topup identifies its eSIM by esimTranNo or ICCID, and reports a replay', async () => {
  const { gateway, input } = await start(() => ({ ...ok(TOPUP), headers: { 'Idempotent-Replayed': 'true' } }))
  expect((await command(['topup', 'P'], input)).code).toBe(2)
  const { code, out } = await command(['topup', 'P', 'E1', '--transaction-id', 'T-1', '--amount', '4.50'], input)
  expect([code, out]).toEqual([0, expect.stringContaining('nothing was debited again')])
  const { err } = await command(['topup', 'P', '--iccid', '8900'], input)
  const [, transactionId] = /^transactionId (\S+)$/m.exec(err) ?? []
  expect(gateway.seen.map(({ operation, body }) => [operation, body])).toEqual([
    ['esim/topup', { transactionId: 'T-1', esimTranNo: 'E1', packageCode: 'P', amount: 45_000 }],
    ['esim/topup', { transactionId, iccid: '8900', packageCode: 'P' }],
  ])
})

test('a topup without an answer is repeated with its transactionId, then exits with status 3', async () => {
  const { gateway, input } = await start(() => refusal(500, '000001'))
  const { code } = await command(['topup', 'P', 'E1', '--transaction-id', 'T-1', '--retries', '1'], input)
  expect(code).toBe(3)
  expect(gateway.seen.map(({ body }) => body.transactionId)).toEqual(['T-1', 'T-1'])
})

test('packages --topup asks for the packages that fit an eSIM', async () => {
  const { gateway, input } = await start(() =>
    ok({ packageList: [], nextCursor: null, asOf: '2026-11-20T13:40:00.000Z' }),
  )
  expect((await command(['packages', '--topup', '--esim-tran-no', 'E1'], input)).code).toBe(0)
  expect((await command(['packages', '--topup', '--iccid', '8900', '--all'], input)).code).toBe(0)
  expect(gateway.seen.map(({ body }) => body)).toEqual([
    { type: 'TOPUP', esimTranNo: 'E1' },
    { type: 'TOPUP', iccid: '8900', pageSize: 500 },
  ])
})

test.each(['cancel', 'suspend', 'unsuspend', 'revoke'])(
  'the help for %s contains an example of the command',
  async (name) => {
    const { input } = await start(() => ok(ACTION))
    const { out } = await command([name, '--help'], input)
    expect(out).toContain(`$ dealer-esim ${name} `)
  },
)
