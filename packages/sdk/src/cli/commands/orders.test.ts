import { describe, expect, onTestFinished, test } from 'vitest'
import { command, environment } from '#test/command.ts'
import { type FakeAnswer, fakeGateway, ok, refusal, type Script } from '#test/fake-gateway.ts'
import { ORDER } from '#test/order.ts'

async function start(script: Script) {
  const gateway = await fakeGateway(script)
  onTestFinished(() => gateway.close())
  return { env: environment(gateway) }
}

test.each([
  ['an internal error', '0', () => refusal(500, '000001')],
  ["a proxy's page", '0', () => ({ status: 502, body: '<h1>Bad gateway</h1>' })],
  ['a refusal after an attempt without an answer', '1', (at: number) => (at === 1 ? 'break' : refusal(402, '200007'))],
] as const)(
  'after %s, an order’s outcome is unknown and the command exits with status 3, not as for a refusal',
  async (_what, retries, answer) => {
    const input = await start((_operation, _body, arrival) => answer(arrival))
    const argv = ['order', 'JP_1_7', '--transaction-id', 'T-1', '--retries', retries]
    const { code, err } = await command(argv, input)
    expect(code).toBe(3)
    expect(err).toMatch(/repeat the call, and an order with the same transactionId/)
  },
)

test('after a request without effect, the command exits as it does after a refusal', async () => {
  const input = await start(() => refusal(503, '000002'))
  expect((await command(['order', 'JP_1_7', '--retries', '0'], input)).code).toBe(1)
})

test('--help lists the exit codes after which an order must keep its transactionId', async () => {
  const { out } = await command(['--help'])
  expect(out).toMatch(/^ {2}3 {2}the outcome is unknown.*an order may have been placed: repeat it with the same/ms)
})

const PAID_THEN = (then: FakeAnswer | 'break' | 'hang') => (operation: string) =>
  operation === 'esim/order' ? ok(ORDER) : then
const BUY = ['order', 'JP_1_7', '--transaction-id', 'T-1', '--wait', '--retries', '0']

describe('--wait', () => {
  test.each([
    ['the rate limit', refusal(429, '101007'), '101007'],
    ['a broken connection', 'break', 'NETWORK_FAULT'],
    ['an answer that cannot be shown', ok({ orderStatus: 'DELIVERED' }), 'COMMAND_FAILED'],
  ] as const)('shows the placed order when %s hides its status', async (_what, then, reason) => {
    const input = await start(PAID_THEN(then))
    const { code, out, err } = await command(BUY, input)
    expect(code).toBe(3)
    expect(out).toMatch(/^Order +O1$/m)
    expect(out).toMatch(/^Amount +4\.50 USD$/m)
    expect(out).toContain('The order is placed: `dealer-esim query O1` shows its status.')
    expect(err).toContain(reason)

    const asJson = await command([...BUY, '--json'], input)
    expect([asJson.code, asJson.err]).toEqual([3, ''])
    const waitFailed = { code: reason, message: expect.any(String) }
    expect(JSON.parse(asJson.out)).toEqual({ ...ORDER, replayed: false, waitFailed })
  })

  test('shows the order when Ctrl-C ends the wait', async () => {
    const interrupt = new AbortController()
    const input = await start((operation) => {
      if (operation === 'esim/query') interrupt.abort()
      return PAID_THEN('hang')(operation)
    })
    const { code, out } = await command(BUY, { ...input, interrupted: interrupt.signal })
    expect([code, out]).toEqual([3, expect.stringContaining('The order is placed')])
  })
})

describe('quote', () => {
  const QUOTE = {
    ...{ validateOnly: true, amount: 90_000, currencyCode: 'USD', balanceAfter: 10_000 },
    packageInfoList: [
      { packageCode: 'JP_1_7', packageName: 'Japan', count: 2, price: 45_000, periodNum: null, available: 7 },
    ],
  }

  test('shows what an order would debit, and says that nothing is reserved', async () => {
    const input = await start((operation, body) =>
      operation === 'esim/order' && body.validateOnly === true && body.transactionId === undefined
        ? ok(QUOTE)
        : refusal(422, '310241'),
    )
    const { code, out } = await command(['quote', 'JP_1_7:2'], input)
    expect([code, out]).toEqual([0, expect.stringMatching(/^Amount +9\.00 USD$/m)])
    expect(out).toMatch(/^Balance afterwards +1\.00 USD$/m)
    expect(out).toContain('nothing is reserved')
  })

  test('with an eSIM checks a top-up, for one package only', async () => {
    const input = await start((operation) => (operation === 'esim/topup' ? ok(QUOTE) : refusal(422, '310241')))
    expect((await command(['quote', 'UP', '--iccid', '8985200012345678904', '--json'], input)).out).toContain(
      '"amount": 90000',
    )
    const refused = await command(['quote', 'UP:2', '--iccid', '8985200012345678904'], input)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('one package')])
  })

  test('fails as the order would', async () => {
    const input = await start(() => refusal(402, '200007'))
    expect((await command(['quote', 'JP_1_7'], input)).code).toBe(1)
  })
})
