import { compare, median } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { orderBody, requireSuccess, sendAll, signedRequest } from '../load.ts'
import { placeWithPlainSql } from '../plain-sql.ts'

const ORDERS = 1_000
/**
 * Orders placed by each side before measuring. A gateway's code is compiled while it runs: its first few thousand orders
 * take half as long again as the later ones.
 */
const WARM_ORDERS = 10_000
const WARM_CONNECTIONS = 16

export const latency: Figure = {
  name: 'latency',
  summary: 'p50 and p99 of a lone esim/order, against a lone plain transaction',
  async run(bench) {
    const gateway = await bench.startApi()
    const [tenant] = await bench.createTenants(1)
    const [plain] = await bench.createTenants(1)
    const p99 = { ours: [] as number[], against: [] as number[] }
    const ours = async () => {
      const requests = Array.from({ length: ORDERS }, () => signedRequest(tenant!, 'esim/order', orderBody()))
      const result = requireSuccess(await sendAll(gateway.baseUrl, requests, 1))
      p99.ours.push(result.p99Ms)
      return result.p50Ms
    }
    const against = async () => {
      const result = await placeWithPlainSql(bench.databaseUrl, [plain!.tenantId], ORDERS, 1)
      p99.against.push(result.p99Ms)
      return result.p50Ms
    }
    const warmUp = Array.from({ length: WARM_ORDERS }, () => signedRequest(tenant!, 'esim/order', orderBody()))
    requireSuccess(await sendAll(gateway.baseUrl, warmUp, WARM_CONNECTIONS))
    await placeWithPlainSql(bench.databaseUrl, [plain!.tenantId], WARM_ORDERS, WARM_CONNECTIONS)
    await ours()
    await against()
    p99.ours.length = p99.against.length = 0
    const common = { rounds: bench.rounds, progress: bench.progress }
    const result = await compare({
      ...common,
      name: 'latency',
      what: 'p50 in ms of a lone esim/order over HTTP, against a lone plain transaction',
      aim: { max: 2.5 },
      ours,
      against,
    })
    result.notes.push(`p99: ${median(p99.ours).toFixed(2)} ms against ${median(p99.against).toFixed(2)} ms`)
    await gateway.stop()
    return [result]
  },
}
