import { verifyLedger } from '../../packages/gateway/src/wallet/verify/verify.ts'
import { compare, formatValue, type Result } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import type { BenchGateway } from '../gateway.ts'
import { type Credentials, orderBody, requireSuccess, sendAll, signedRequest } from '../load.ts'
import { verifyRows } from '../verify-rows.ts'

const ORDERS = 4_000
const WARM_ORDERS = 500
const CONNECTIONS = 64
const TENANTS = 10
const NODES = [2, 4]

export const nodes: Figure = {
  name: 'nodes',
  summary:
    'orders/s of 2 and 4 API processes on one database against 1; each order is sent to two nodes and placed once',
  async run(bench) {
    const all: BenchGateway[] = []
    for (let node = 0; node < Math.max(...NODES); node++) all.push(await bench.startApi())
    const tenants = await bench.createTenants(TENANTS)
    let acknowledged = 0
    const measure = async (count: number, among: BenchGateway[]) => {
      acknowledged += count
      return ordersPerSecond(count, among, tenants)
    }
    try {
      await measure(WARM_ORDERS * all.length, all)
      const results: Result[] = []
      for (const count of NODES) results.push(await compareNodes(bench, count, all, measure))
      const found = await verifyRows(
        bench.db,
        tenants.map((tenant) => tenant.tenantId),
        acknowledged,
      )
      let faults = 0
      await verifyLedger(bench.db, { onFault: () => faults++ })
      if (faults > 0) throw new Error(`the ledger has ${faults} faults`)
      for (const result of results) result.notes.push(found, 'the ledger was verified')
      return results
    } finally {
      await Promise.all(all.map((gateway) => gateway.stop()))
    }
  },
}

async function compareNodes(
  bench: Environment,
  count: number,
  all: BenchGateway[],
  measure: (count: number, among: BenchGateway[]) => Promise<number>,
): Promise<Result> {
  const result = await compare({
    name: `nodes: ${count}`,
    what: `orders/s of ${count} API processes over ${TENANTS} wallets, ${CONNECTIONS} connections in all, each order sent to two nodes concurrently, against 1 process that gets each order twice`,
    aim: {},
    rounds: bench.rounds,
    progress: bench.progress,
    ours: () => measure(ORDERS, all.slice(0, count)),
    against: () => measure(ORDERS, all.slice(0, 1)),
  })
  result.notes.push(`${formatValue(result.ours.median)} orders/s, twice as many requests`)
  return result
}

/** Sends each order to two nodes, or twice to a single one: one request places it, the other is a replay. */
async function ordersPerSecond(count: number, among: BenchGateway[], tenants: Credentials[]): Promise<number> {
  const requests: Buffer[][] = among.map(() => [])
  for (let order = 0; order < count; order++) {
    const body = orderBody()
    const dealer = tenants[order % tenants.length]!
    for (const node of [order, order + 1]) {
      requests[node % among.length]!.push(signedRequest(dealer, 'esim/order', body))
    }
  }
  const started = performance.now()
  const connections = CONNECTIONS / among.length
  const sending = among.map(({ baseUrl }, node) => sendAll(baseUrl, requests[node]!, connections))
  const answers = (await Promise.all(sending)).map(requireSuccess)
  const durationS = (performance.now() - started) / 1000
  const replayed = answers.reduce((sum, answer) => sum + answer.replayed, 0)
  if (replayed !== count) throw new Error(`of ${2 * count} answers to ${count} orders ${replayed} were replays`)
  return count / durationS
}
