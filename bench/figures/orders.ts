import { compare, type Result } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { foundRows } from '../found-rows.ts'
import { allSucceeded, orderBody, sendAll, signedRequest } from '../load.ts'
import { pgbenchRate } from '../pgbench.ts'
import { placePlainly } from '../plain-sql.ts'

/** Two seconds' work, and as much of the yardstick's. The server's own chores (statistics, vacuum) take several. */
const ORDERS = 20_000
const PLAIN_ORDERS = 8_000
const TURNS = 3
const WARM_TURNS = 2
const PLAIN_CONNECTIONS = 16
const SPREAD_TENANTS = 200
/** Two for each wallet. Of 64, two groups take turns and leave the cores idle in between (docs/performance.md). */
const CONNECTIONS = 400

export const orderHot: Figure = {
  name: 'order-hot',
  summary: 'signed esim/order/s over HTTP on one wallet, against hand-written SQL',
  run: (bench) => orders(bench, { name: 'order-hot', tenants: 1, least: 3 }),
}

export const orderSpread: Figure = {
  name: 'order-spread',
  summary: 'the same over 200 wallets',
  run: (bench) => orders(bench, { name: 'order-spread', tenants: SPREAD_TENANTS, least: 2 }),
}

async function orders(bench: Environment, wanted: { name: string; tenants: number; least: number }): Promise<Result[]> {
  const gateway = await bench.startApi()
  const tenants = await bench.tenants(wanted.tenants)
  const plain = await bench.tenants(wanted.tenants)
  const plainIds = plain.map((tenant) => tenant.tenantId)
  let claimed = 0
  const measure = async (count: number) => {
    const requests = Array.from({ length: count }, (_, index) =>
      signedRequest(tenants[index % tenants.length]!, 'esim/order', orderBody()),
    )
    const result = allSucceeded(await sendAll(gateway.baseUrl, requests, CONNECTIONS))
    claimed += count
    return result.perSecond
  }
  // Warm: a gateway still compiles at its thirty thousandth order.
  for (let warmed = 0; warmed < WARM_TURNS; warmed++) {
    await measure(ORDERS)
    await placePlainly(bench.databaseUrl, plainIds, PLAIN_ORDERS, PLAIN_CONNECTIONS)
  }
  const result = await compare({
    name: wanted.name,
    what: `signed esim/order/s over HTTP, ${wanted.tenants} wallet(s), ${CONNECTIONS} connections, against one prepared round trip and transaction per order, ${PLAIN_CONNECTIONS} connections, no HTTP`,
    aim: { least: wanted.least },
    rounds: bench.rounds,
    turns: TURNS,
    progress: bench.progress,
    ours: () => measure(ORDERS),
    against: async () => (await placePlainly(bench.databaseUrl, plainIds, PLAIN_ORDERS, PLAIN_CONNECTIONS)).perSecond,
  })
  result.notes.push(
    await foundRows(
      bench.db,
      tenants.map((tenant) => tenant.tenantId),
      claimed,
    ),
  )
  const rate = await pgbenchRate(bench.databaseUrl, plainIds, PLAIN_CONNECTIONS)
  result.notes.push(
    rate === undefined ? 'pgbench is not installed' : `the same SQL under pgbench: ${rate.toFixed(0)} orders/s`,
  )
  result.notes.push('the gateway plays the api role: fulfilment is not part of the figure, on either side')
  await gateway.stop()
  return [result]
}
