import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import { signedHeaders } from '../../packages/gateway/src/webhooks/attempt.ts'
import { ENDPOINT_FLIGHTS_MOST } from '../../packages/gateway/src/webhooks/limits.ts'
import { compare, percentile, type Result } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { openSender, type Sender } from '../webhooks/sender.ts'

const EVENTS = 20_000
const WARM_EVENTS = 5_000
const TENANTS = 20
const TIMED_EVENTS = 1_000
/** 100 events/s. */
const GAP_MS = 10
const BACKLOG = 100_000
const RECORDED_AT_ONCE = 10_000

export const webhooks: Figure = {
  name: 'webhooks',
  summary: 'events/s to a local receiver against a bare loop of POSTs; delivery times beside a backlog that hangs',
  async run(bench) {
    const receiver = await startReceiver()
    const sender = openSender(bench.databaseUrl)
    const stop = await sender.start()
    try {
      return [await rate(bench, sender, receiver), await times(bench, sender, receiver)]
    } finally {
      await stop()
      await sender.close()
      receiver.stop()
    }
  },
}

async function rate(bench: Environment, sender: Sender, receiver: Receiver): Promise<Result> {
  const [tenantId] = await sender.tenants(receiver.url, 1)
  const ours = async (count: number) => {
    const recording = await sender.record(tenantId!, count)
    const started = performance.now()
    sender.wake()
    await receiver.take(recording.length)
    return count / ((performance.now() - started) / 1000)
  }
  await ours(WARM_EVENTS)
  await barePosts(receiver, WARM_EVENTS)
  return compare({
    name: 'webhooks',
    what: `events/s to a local receiver, claimed, signed twice, sent, logged and settled, against a loop of the same POSTs, signed beforehand, on the same client, ${ENDPOINT_FLIGHTS_MOST} at a time`,
    aim: { least: 0.5 },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: () => ours(EVENTS),
    against: () => barePosts(receiver, EVENTS),
    notes: ['every event was seen at the receiver'],
  })
}

async function barePosts(receiver: Receiver, count: number): Promise<number> {
  const { origin, pathname: path } = new URL(receiver.url)
  const pool = new Pool(origin, { connections: ENDPOINT_FLIGHTS_MOST, pipelining: 1 })
  const body = JSON.stringify({ notifyId: randomUUID(), content: 'x'.repeat(400) })
  const secret = { secretId: '', secret: 'x'.repeat(43), validUntil_ms: null, provenAt_ms: null }
  const signed = signedHeaders({ appKey: 'bench_bare', secrets: [secret] }, '', randomUUID(), new Date(), body)
  let left = count
  const worker = async () => {
    while (left-- > 0) {
      const headers = { ...signed, 'webhook-id': String(left) }
      const answer = await pool.request({ method: 'POST', path, headers, body })
      await answer.body.dump()
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: ENDPOINT_FLIGHTS_MOST }, worker))
  const duration_s = (performance.now() - started) / 1000
  await pool.close()
  await receiver.take(count)
  return count / duration_s
}

async function times(bench: Environment, sender: Sender, receiver: Receiver): Promise<Result> {
  const tenantIds = await sender.tenants(receiver.url, TENANTS)
  const p99_ms = { alone: [] as number[], beside: [] as number[] }
  const measure = async (into: number[]) => {
    const sorted = await timed(sender, receiver, tenantIds)
    into.push(percentile(sorted, 0.99))
    return percentile(sorted, 0.5)
  }
  // Beside needs the backlog, which alone must not have: alone is measured first, as often.
  const alone: number[] = []
  for (let round = 0; round < bench.rounds; round++) alone.push(await measure(p99_ms.alone))
  const [hanging] = await sender.tenants(receiver.hangingUrl, 1)
  for (let made = 0; made < BACKLOG; made += RECORDED_AT_ONCE) await sender.record(hanging!, RECORDED_AT_ONCE)
  const result = await compare({
    name: 'webhooks-beside',
    what: `p50 in ms from the commit to the receiver at 100 events/s over ${TENANTS} tenants, while ${BACKLOG} events of another wait for an endpoint that hangs, against without them`,
    aim: { most: 1.5 },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: () => measure(p99_ms.beside),
    against: async (round) => alone[round]!,
  })
  const median = (values: number[]) =>
    percentile(
      [...values].sort((left, right) => left - right),
      0.5,
    ).toFixed(1)
  result.notes.push(
    `alone: p50 ${median(alone)} ms (aim 20), p99 ${median(p99_ms.alone)} ms (aim 100); beside the backlog: p99 ${median(p99_ms.beside)} ms`,
  )
  return result
}

/** Milliseconds from each commit to the receiver, in ascending order. */
async function timed(sender: Sender, receiver: Receiver, tenantIds: string[]): Promise<number[]> {
  const committed = new Map<string, number>()
  const started = performance.now()
  const recordings: Promise<void>[] = []
  for (let number = 0; number < TIMED_EVENTS; number++) {
    await delay(Math.max(0, started + number * GAP_MS - performance.now()))
    recordings.push(
      sender.record(tenantIds[number % tenantIds.length]!, 1).then(([notifyId]) => {
        committed.set(notifyId!, performance.timeOrigin + performance.now())
        sender.wake()
      }),
    )
  }
  await Promise.all(recordings)
  const arrived = await receiver.take(TIMED_EVENTS)
  return [...committed].map(([notifyId, at_ms]) => arrived.get(notifyId)! - at_ms).sort((left, right) => left - right)
}
