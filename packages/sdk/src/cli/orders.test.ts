import { expect, onTestFinished, test } from 'vitest'
import { command, environment } from '../../test/command.ts'
import { fakeGateway, refusal, type Script } from '../../test/fake-gateway.ts'

async function start(script: Script) {
  const gateway = await fakeGateway(script)
  onTestFinished(() => gateway.close())
  return { env: environment(gateway) }
}

test.each([
  ['an internal error', '0', () => refusal(500, '000001')],
  ["a proxy's page", '0', () => ({ status: 502, body: '<h1>Bad gateway</h1>' })],
  ['a refusal after an attempt without an answer', '1', (at: number) => (at === 1 ? 'break' : refusal(402, '200007'))],
] as const)('%s leaves an order in doubt, so that it exits 3 and not as refused', async (_what, retries, answer) => {
  const around = await start((_operation, _body, arrival) => answer(arrival))
  const argv = ['order', 'JP_1_7', '--transaction-id', 'T-1', '--retries', retries]
  const { code, err } = await command(argv, around)
  expect(code).toBe(3)
  expect(err).toMatch(/repeat it, an order with the same transactionId/)
})

test('what the gateway says had no effect is a refusal', async () => {
  const around = await start(() => refusal(503, '000002'))
  expect((await command(['order', 'JP_1_7', '--retries', '0'], around)).code).toBe(1)
})

test('--help tells scripts after which exit code an order keeps its transactionId', async () => {
  const { out } = await command(['--help'])
  expect(out).toMatch(/^ {2}3 {2}the outcome is unknown.*an order may have been placed: repeat it with the same/ms)
})
