import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ACKNOWLEDGED } from '#webhooks/attempt-log.ts'
import { LEASE_MS } from '#webhooks/webhook-limits.ts'
import { bundleForChildren, type ChildBundle } from '../harness/processes/child-process.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, MASTER_KEY, type Testbed, type TestTenant } from './webhook-testbed.ts'

const TENANTS = 5
const EVENTS_PER_ROUND = 300
const ROUNDS = 10

let testbed: Testbed
let receiver: Receiver
let bundle: ChildBundle
let sender: ChildProcess | undefined
beforeAll(async () => {
  bundle = await bundleForChildren(new URL('sender-process.ts', import.meta.url))
  testbed = await createTestbed()
  receiver = await startReceiver()
})
afterAll(async () => {
  sender?.kill('SIGKILL')
  await testbed.close()
  await receiver.close()
  bundle.remove()
})

/** Each sender's clock is one lease ahead of the previous sender's, so that the previous claims have expired. */
async function startSender(round: number): Promise<void> {
  const args = [testbed.url, MASTER_KEY.toString('hex'), String(round * (LEASE_MS + 1_000))]
  sender = fork(bundle.path, args, { execArgv: [] })
  await once(sender, 'message')
}

async function killSender(): Promise<void> {
  const ended = once(sender!, 'exit')
  sender!.kill('SIGKILL')
  await ended
}

test('every event arrives at least once when the sender is killed repeatedly', {
  timeout: 300_000,
}, async () => {
  const tenants: TestTenant[] = []
  for (let number = 0; number < TENANTS; number++) tenants.push(await testbed.tenant({ callbackUrl: receiver.url }))
  const recorded: string[] = []
  const missing = () => {
    const arrived = new Set(receiver.received.map((one) => one.notifyId))
    return recorded.filter((notifyId) => !arrived.has(notifyId))
  }
  let interrupted = false
  const seed = Math.floor(Math.random() * 1_000_000)
  console.log(`kill moments drawn with seed ${seed}`)
  for (let round = 0; round < ROUNDS; round++) {
    for (const tenant of tenants) recorded.push(...(await testbed.record(tenant, EVENTS_PER_ROUND / TENANTS)))
    const before = receiver.received.length
    await startSender(round)
    // After it has sent something, at a random moment.
    await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(before), { timeout: 60_000, interval: 1 })
    await delay(((seed * (round + 1) * 7919) % 1000) / 10)
    await killSender()
    interrupted ||= missing().length > 0
  }
  await startSender(ROUNDS)
  await vi.waitFor(
    async () => {
      const states = (await Promise.all(tenants.map((tenant) => testbed.states(tenant)))).flat()
      expect(states.filter((event) => event.deliveryState !== 'DELIVERED')).toEqual([])
    },
    { timeout: 60_000, interval: 100 },
  )
  expect(interrupted).toBe(true) // otherwise no kill has interrupted any work
  expect(missing()).toEqual([])
  // Deleted deliveries were acknowledged, at the time given in the log.
  const unproven = await testbed.deps.db.query({
    text: `select from events e where not exists (
             select from delivery_attempts a
             where a.tenant_id = e.tenant_id and a.notify_id = e.notify_id and a.outcome = $1)`,
    values: [ACKNOWLEDGED],
  })
  expect(unproven).toHaveLength(0)
})
