import { setTimeout as delay } from 'node:timers/promises'
import { compare, median, percentile, type Result } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { orderBody, requireSuccess, sendAll, signedRequest } from '../load.ts'
import { placeWithPlainSql } from '../plain-sql.ts'
import { type Selling, startSelling } from '../sold/gateway-side.ts'

const DEALERS = 20
const ORDERS = 400
/** 20 orders/s. */
const GAP_MS = 50
const WARM_ORDERS = 100
const PLAIN_ORDERS = 1_000
const P50_MAX = 20
const P99_MAX = 100

export const calm: Figure = {
  name: 'calm',
  summary: 'time from the order to its DELIVERY_UPDATED at 20 orders/s, against a lone plain transaction',
  async run(bench) {
    const plain = await bench.createDatabase('calm-plain')
    const selling = await startSelling(bench, DEALERS)
    try {
      const plainIds = (await plain.createTenants(1)).map(({ tenantId }) => tenantId)
      return await compareTimes(bench, selling, () => placeWithPlainSql(plain.databaseUrl, plainIds, PLAIN_ORDERS, 1))
    } finally {
      await selling.stop()
      await plain.drop()
    }
  },
}

async function compareTimes(
  bench: Environment,
  selling: Selling,
  placePlain: () => Promise<{ p50Ms: number }>,
): Promise<Result[]> {
  await deliveryTimes(selling, WARM_ORDERS)
  await placePlain()
  const rounds: { p50Ms: number; p99Ms: number; plainMs: number }[] = []
  for (let round = 0; round < bench.rounds; round++) {
    const first = round % 2 === 0 ? await placePlain() : undefined
    const timesMs = await deliveryTimes(selling, ORDERS)
    const plainMs = (first ?? (await placePlain())).p50Ms
    rounds.push({ p50Ms: percentile(timesMs, 0.5), p99Ms: percentile(timesMs, 0.99), plainMs })
  }
  const ratio = (name: string, max: number, timeMs: (round: (typeof rounds)[number]) => number) =>
    compare({
      name: `calm: ${name}`,
      what: `${name} in ms from sending a signed esim/order to the arrival of its DELIVERY_UPDATED with the status DELIVERED, at ${1000 / GAP_MS} orders/s over ${DEALERS} dealers, against the p50 of a lone plain transaction`,
      aim: { max },
      rounds: bench.rounds,
      progress: bench.progress,
      ours: async (round) => timeMs(rounds[round]!),
      against: async (round) => rounds[round]!.plainMs,
      notes: [`medians: ${median(rounds.map(timeMs)).toFixed(1)} ms`],
    })
  return [await ratio('p50', P50_MAX, ({ p50Ms }) => p50Ms), await ratio('p99', P99_MAX, ({ p99Ms }) => p99Ms)]
}

/** Milliseconds, in ascending order. */
async function deliveryTimes({ gateway, dealers, receiver }: Selling, orders: number): Promise<number[]> {
  const sentAtMs = new Map<string, number>()
  const started = performance.now()
  const calls: Promise<unknown>[] = []
  for (let number = 0; number < orders; number++) {
    await delay(Math.max(0, started + number * GAP_MS - performance.now()))
    const transactionId = crypto.randomUUID()
    const request = signedRequest(dealers[number % dealers.length]!, 'esim/order', orderBody(transactionId))
    sentAtMs.set(transactionId, performance.timeOrigin + performance.now())
    calls.push(sendAll(gateway.baseUrl, [request], 1).then(requireSuccess))
  }
  await Promise.all(calls)
  const arrived = await receiver.take(orders)
  return [...sentAtMs].map(([id, atMs]) => arrived.get(id)! - atMs).sort((left, right) => left - right)
}
