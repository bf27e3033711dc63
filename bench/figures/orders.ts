import { compare, type Result } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { orderBody, requireSuccess, sendAll, signedRequest } from '../load.ts'
import { pgbenchRate } from '../pgbench.ts'
import { placeWithPlainSql } from '../plain-sql.ts'
import { verifyRows } from '../verify-rows.ts'

/** Two seconds of work on each side. The server's background work (statistics, vacuum) takes several. */
const ORDERS = 20_000
const PLAIN_ORDERS = 8_000
const TURNS = 3
const WARM_TURNS = 2
const PLAIN_CONNECTIONS = 16
const SPREAD_TENANTS = 200
/** Two per wallet. With 64, two groups take turns and leave the cores idle in between (docs/performance.md). */
const CONNECTIONS = 400

export const orderHot: Figure = {
  name: 'order-hot',
  summary: 'signed esim/order/s over HTTP on one wallet, against hand-written SQL',
  run: (bench) => orders(bench, { name: 'order-hot', tenants: 1, min: 3 }),
}

export const orderSpread: Figure = {
  name: 'order-spread',
  summary: 'the same over 200 wallets',
  run: (bench) => orders(bench, { name: 'order-spread', tenants: SPREAD_TENANTS, min: 2 }),
}

async function orders(bench: Environment, options: { name: string; tenants: number; min: number }): Promise<Result[]> {
  const gateway = await bench.startApi()
  const tenants = await bench.createTenants(options.tenants)
  const plain = await bench.createTenants(options.tenants)
  const plainIds = plain.map((tenant) => tenant.tenantId)
  let acknowledged = 0
  const measure = async (count: number) => {
    const requests = Array.from({ length: count }, (_, index) =>
      signedRequest(tenants[index % tenants.length]!, 'esim/order', orderBody()),
    )
    const result = requireSuccess(await sendAll(gateway.baseUrl, requests, CONNECTIONS))
    acknowledged += count
    return result.perSecond
  }
  // Warm up: a gateway still compiles code at its thirty thousandth order.
  for (let warmed = 0; warmed < WARM_TURNS; warmed++) {
    await measure(ORDERS)
    await placeWithPlainSql(bench.databaseUrl, plainIds, PLAIN_ORDERS, PLAIN_CONNECTIONS)
  }
  const result = await compare({
    name: options.name,
    what: `signed esim/order/s over HTTP, ${options.tenants} wallet(s), ${CONNECTIONS} connections, against one prepared round trip and transaction per order, ${PLAIN_CONNECTIONS} connections, no HTTP`,
    aim: { min: options.min },
    rounds: bench.rounds,
    turnsPerRound: TURNS,
    progress: bench.progress,
    ours: () => measure(ORDERS),
    against: async () =>
      (await placeWithPlainSql(bench.databaseUrl, plainIds, PLAIN_ORDERS, PLAIN_CONNECTIONS)).perSecond,
  })
  result.notes.push(
    await verifyRows(
      bench.db,
      tenants.map((tenant) => tenant.tenantId),
      acknowledged,
    ),
  )
  const rate = await pgbenchRate(bench.databaseUrl, plainIds, PLAIN_CONNECTIONS)
  result.notes.push(
    rate === undefined ? 'pgbench is not installed' : `the same SQL under pgbench: ${rate.toFixed(0)} orders/s`,
  )
  result.notes.push('the gateway has the role api: neither side includes fulfilment')
  await gateway.stop()
  return [result]
}
