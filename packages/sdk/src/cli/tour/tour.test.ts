import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { command, environment } from '#test/command.ts'
import { type FakeAnswer, fakeGateway, ok, refusal, type Script } from '#test/fake-gateway.ts'
import { ORDER } from '#test/order.ts'

const SETTING = { callbackUrl: null, eventTypes: [], enabled: true, usageThresholds: [], expiryNoticeHours: [] }
const ANSWERS: Record<string, object> = {
  health: { status: 'UP' },
  'account/balance': { availableBalance: 1_000_000 },
  'package/list': {
    packageList: [{ packageCode: 'P', name: 'P', status: 'ON_SALE', price: 45_000, currencyCode: 'USD' }],
    nextCursor: null,
  },
  'esim/order': ORDER,
  'esim/query': { ...ORDER, orderStatus: 'DELIVERED', profileList: [] },
  'esim/profile/list': { profileList: [], nextCursor: null },
  'webhook/set': SETTING,
}

async function start(instead: (...call: Parameters<Script>) => FakeAnswer | undefined) {
  const gateway = await fakeGateway((...call) => instead(...call) ?? ok(ANSWERS[call[0]] ?? {}))
  onTestFinished(() => gateway.close())
  return { gateway, env: environment(gateway) }
}

async function listen(port: number): Promise<{ port: number; close(): void }> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

test('a tour that cannot read the webhook setting ends without leaving a receiver open', async () => {
  const { env } = await start((operation) => (operation === 'webhook/set' ? refusal(403, '101005') : undefined))
  const { port, close } = await listen(0)
  close()
  expect(await command(['tour', '--port', `${port}`], { env })).toMatchObject({ code: 1 })
  const free = await listen(port)
  free.close()
})

test.each([[[]], [['--full']]])(
  'Ctrl-C while the tour waits for events ends the tour and restores the webhook %j',
  async (options) => {
    const interrupt = new AbortController()
    const { gateway, env } = await start((operation) => {
      const orders = gateway.seen.filter((call) => call.operation === 'esim/order').length
      if (operation === 'esim/order' && orders === 2) setImmediate(() => interrupt.abort())
      return undefined
    })
    const { code, out, err } = await command(['tour', ...options], { env, interrupted: interrupt.signal })
    expect([code, err]).toEqual([3, expect.stringMatching(/^Interrupted while waiting for the events of order /)])
    expect(out).not.toContain('Done.')
    const operations = gateway.seen.map(({ operation }) => operation)
    expect(operations.filter((operation) => operation === 'esim/order')).toHaveLength(2)
    expect(gateway.seen.at(-1)).toMatchObject({ operation: 'webhook/set', body: { callbackUrl: null } })
  },
)
