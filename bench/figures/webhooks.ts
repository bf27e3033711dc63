import { setTimeout as delay } from 'node:timers/promises'
import { ENDPOINT_IN_FLIGHT_MAX } from '../../packages/gateway/src/webhooks/limits.ts'
import { compare, mark, median, percentile, type Result } from '../compare.ts'
import { cpuTimeUs } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import type { BenchGateway } from '../gateway.ts'
import { type BarePosts, startBarePosts } from '../webhooks/bare-posts.ts'
import { record, tenantsWithEndpoint, wake } from '../webhooks/events.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const EVENTS = 20_000
/** Of a round, on either side: whatever was measured right before makes a turn quicker or slower by a quarter. */
const TURNS = 3
/** The first ones cost the sender a tenth more: what is hot in it is still being compiled. Both sides are warmed alike. */
const WARM_EVENTS = 20_000
const TENANTS = 20
const TIMED_EVENTS = 1_000
/** 100 events/s. */
const GAP_MS = 10
const BACKLOG = 100_000
/** From a commit to the receiver, with nothing else to send. */
const P50_MAX_MS = 20
const P99_MAX_MS = 100
const RECORDED_AT_ONCE = 10_000

export const webhooks: Figure = {
  name: 'webhooks',
  summary: 'events/s to a local receiver against a bare loop of POSTs; delivery times beside a backlog that hangs',
  async run(bench) {
    const receiver = await startReceiver()
    const gateway = await bench.startWorker()
    const bare = startBarePosts()
    try {
      return [await rate(bench, gateway, bare, receiver), await times(bench, receiver)]
    } finally {
      bare.stop()
      await gateway.stop()
      receiver.stop()
    }
  },
}

async function rate(bench: Environment, gateway: BenchGateway, bare: BarePosts, receiver: Receiver): Promise<Result> {
  const [tenantId] = await tenantsWithEndpoint(bench, receiver.url, 1)
  const cpuUs = { ours: [] as number[], against: [] as number[] }
  const ours = async (count: number) => {
    await record(bench, tenantId!, count)
    const usedUs = cpuTimeUs(gateway.pid)
    const startedMs = performance.timeOrigin + performance.now()
    await wake(bench)
    // The last arrival counts: asking for all of them takes the receiver a while.
    const arrived = await receiver.take(count)
    const durationS = (Math.max(...arrived.values()) - startedMs) / 1000
    cpuUs.ours.push(((cpuTimeUs(gateway.pid) ?? Number.NaN) - (usedUs ?? 0)) / count)
    return count / durationS
  }
  const against = async (count: number) => {
    const usedUs = cpuTimeUs(bare.pid)
    const durationS = await bare.send(receiver.url, count, ENDPOINT_IN_FLIGHT_MAX)
    cpuUs.against.push(((cpuTimeUs(bare.pid) ?? Number.NaN) - (usedUs ?? 0)) / count)
    await receiver.take(count)
    return count / durationS
  }
  await ours(WARM_EVENTS)
  await against(WARM_EVENTS)
  cpuUs.ours.length = cpuUs.against.length = 0
  const result = await compare({
    name: 'webhooks',
    what: `events/s to a local receiver, claimed, signed twice, sent, logged and settled by a gateway, against a loop of the same POSTs, signed beforehand, on the same client, ${ENDPOINT_IN_FLIGHT_MAX} at a time`,
    aim: { least: 0.5 },
    rounds: bench.rounds,
    turns: TURNS,
    progress: bench.progress,
    ours: () => ours(EVENTS),
    against: () => against(EVENTS),
    notes: ['every event was seen at the receiver'],
  })
  result.notes.push(
    `processor time of the sending process: ${median(cpuUs.ours).toFixed(0)} µs an event against ${median(cpuUs.against).toFixed(0)} µs a bare POST`,
  )
  return result
}

async function times(bench: Environment, receiver: Receiver): Promise<Result> {
  const tenantIds = await tenantsWithEndpoint(bench, receiver.url, TENANTS)
  const p99Ms = { alone: [] as number[], beside: [] as number[] }
  const measure = async (into: number[]) => {
    const sorted = await timed(bench, receiver, tenantIds)
    into.push(percentile(sorted, 0.99))
    return percentile(sorted, 0.5)
  }
  // Beside needs the backlog, which alone must not have: alone is measured first, as often.
  const alone: number[] = []
  for (let round = 0; round < bench.rounds; round++) alone.push(await measure(p99Ms.alone))
  const [hanging] = await tenantsWithEndpoint(bench, receiver.hangingUrl, 1)
  for (let made = 0; made < BACKLOG; made += RECORDED_AT_ONCE) await record(bench, hanging!, RECORDED_AT_ONCE)
  const result = await compare({
    name: 'webhooks-beside',
    what: `p50 in ms from the commit to the receiver, sent by another node, at 100 events/s over ${TENANTS} tenants, while ${BACKLOG} events of another wait for an endpoint that hangs, against without them`,
    aim: { most: 1.5 },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: () => measure(p99Ms.beside),
    against: alone,
  })
  result.notes.push(
    `alone: p50 ${judged(alone, P50_MAX_MS)}, p99 ${judged(p99Ms.alone, P99_MAX_MS)}`,
    `beside the backlog: p99 ${median(p99Ms.beside).toFixed(1)} ms`,
  )
  return result
}

/** The median of the rounds, and whether it meets this aim. */
function judged(valuesMs: readonly number[], mostMs: number): string {
  const valueMs = median(valuesMs)
  return `${valueMs.toFixed(1)} ms${mark(valueMs <= mostMs)} (aim ≤ ${mostMs})`
}

/** Milliseconds from each commit to the receiver, in ascending order. */
async function timed(bench: Environment, receiver: Receiver, tenantIds: string[]): Promise<number[]> {
  const committed = new Map<string, number>()
  const started = performance.now()
  const recordings: Promise<void>[] = []
  for (let number = 0; number < TIMED_EVENTS; number++) {
    await delay(Math.max(0, started + number * GAP_MS - performance.now()))
    recordings.push(
      record(bench, tenantIds[number % tenantIds.length]!, 1).then(async ([notifyId]) => {
        committed.set(notifyId!, performance.timeOrigin + performance.now())
        await wake(bench)
      }),
    )
  }
  await Promise.all(recordings)
  const arrived = await receiver.take(TIMED_EVENTS)
  return [...committed].map(([notifyId, atMs]) => arrived.get(notifyId)! - atMs).sort((left, right) => left - right)
}
