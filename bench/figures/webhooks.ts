import { setTimeout as delay } from 'node:timers/promises'
import { ENDPOINT_IN_FLIGHT_MAX } from '@dealer-esim/gateway/webhooks/webhook-limits.ts'
import { checkMark, compare, median, percentile, type Result } from '../compare.ts'
import { cpuTimeUs } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import type { BenchGateway } from '../gateway.ts'
import { type BarePosts, startBarePosts } from '../webhooks/bare-posts.ts'
import { createTenantsWithEndpoint, recordTestEvents, wakeSender } from '../webhooks/events.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

const EVENTS = 20_000
/** Turns of each side in a round: the preceding measurement changes a turn's speed by up to a quarter. */
const TURNS = 3
/** The first events cost the sender a tenth more, while its code is being compiled. Both sides are warmed up alike. */
const WARM_EVENTS = 20_000
const TENANTS = 20
const TIMED_EVENTS = 1_000
/** 100 events/s. */
const GAP_MS = 10
const BACKLOG = 100_000
/** Limits of the time from a commit to the receiver, with nothing else to send. */
const P50_MAX_MS = 20
const P99_MAX_MS = 100
const RECORDED_PER_TRANSACTION = 10_000

export const webhooks: Figure = {
  name: 'webhooks',
  summary: 'events/s to a local receiver against a bare loop of POSTs; delivery times during another tenant’s backlog',
  async run(bench) {
    const receiver = await startReceiver()
    const gateway = await bench.startWorker()
    const bare = startBarePosts()
    try {
      return [await compareRates(bench, gateway, bare, receiver), await compareTimes(bench, receiver)]
    } finally {
      bare.stop()
      await gateway.stop()
      receiver.stop()
    }
  },
}

async function compareRates(
  bench: Environment,
  gateway: BenchGateway,
  bare: BarePosts,
  receiver: Receiver,
): Promise<Result> {
  const [tenantId] = await createTenantsWithEndpoint(bench, receiver.url, 1)
  const cpuUs = { ours: [] as number[], against: [] as number[] }
  const ours = async (count: number) => {
    await recordTestEvents(bench, tenantId!, count)
    const usedUs = cpuTimeUs(gateway.pid)
    const startedMs = performance.timeOrigin + performance.now()
    await wakeSender(bench)
    // Use the time of the last arrival: fetching all of them from the receiver takes a while.
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
    what: `events/s to a local receiver, claimed, signed twice, sent, logged and saved by a gateway, against a loop of the same POSTs, signed in advance, with the same client, ${ENDPOINT_IN_FLIGHT_MAX} at a time`,
    aim: { min: 0.5 },
    rounds: bench.rounds,
    turnsPerRound: TURNS,
    progress: bench.progress,
    ours: () => ours(EVENTS),
    against: () => against(EVENTS),
    notes: ['the receiver got every event'],
  })
  result.notes.push(
    `processor time of the sending process: ${median(cpuUs.ours).toFixed(0)} µs an event against ${median(cpuUs.against).toFixed(0)} µs a bare POST`,
  )
  return result
}

async function compareTimes(bench: Environment, receiver: Receiver): Promise<Result> {
  const tenantIds = await createTenantsWithEndpoint(bench, receiver.url, TENANTS)
  const p99Ms = { alone: [] as number[], withBacklog: [] as number[] }
  const measure = async (into: number[]) => {
    const sorted = await measureDeliveryTimes(bench, receiver, tenantIds)
    into.push(percentile(sorted, 0.99))
    return percentile(sorted, 0.5)
  }
  // The rounds without the backlog are measured before it is created.
  const alone: number[] = []
  for (let round = 0; round < bench.rounds; round++) alone.push(await measure(p99Ms.alone))
  const [hanging] = await createTenantsWithEndpoint(bench, receiver.hangingUrl, 1)
  for (let recorded = 0; recorded < BACKLOG; recorded += RECORDED_PER_TRANSACTION)
    await recordTestEvents(bench, hanging!, RECORDED_PER_TRANSACTION)
  const result = await compare({
    name: 'webhooks-backlog',
    what: `p50 in ms from the commit to the receiver, sent by another node, at 100 events/s over ${TENANTS} tenants, while ${BACKLOG} events of another tenant wait for an endpoint that hangs, against the same without the backlog`,
    aim: { max: 1.5 },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: () => measure(p99Ms.withBacklog),
    against: alone,
  })
  result.notes.push(
    `alone: p50 ${formatWithAim(alone, P50_MAX_MS)}, p99 ${formatWithAim(p99Ms.alone, P99_MAX_MS)}`,
    `with the backlog: p99 ${median(p99Ms.withBacklog).toFixed(1)} ms`,
  )
  return result
}

/** The median of the rounds, with a mark that says whether it meets the aim. */
function formatWithAim(valuesMs: readonly number[], maxMs: number): string {
  const valueMs = median(valuesMs)
  return `${valueMs.toFixed(1)} ms${checkMark(valueMs <= maxMs)} (aim ≤ ${maxMs})`
}

/** Milliseconds from each commit to the receiver, in ascending order. */
async function measureDeliveryTimes(bench: Environment, receiver: Receiver, tenantIds: string[]): Promise<number[]> {
  const committed = new Map<string, number>()
  const started = performance.now()
  const recordings: Promise<void>[] = []
  for (let number = 0; number < TIMED_EVENTS; number++) {
    await delay(Math.max(0, started + number * GAP_MS - performance.now()))
    recordings.push(
      recordTestEvents(bench, tenantIds[number % tenantIds.length]!, 1).then(async ([notifyId]) => {
        committed.set(notifyId!, performance.timeOrigin + performance.now())
        await wakeSender(bench)
      }),
    )
  }
  await Promise.all(recordings)
  const arrived = await receiver.take(TIMED_EVENTS)
  return [...committed].map(([notifyId, atMs]) => arrived.get(notifyId)! - atMs).sort((left, right) => left - right)
}
