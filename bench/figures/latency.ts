import { compare, median } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { allSucceeded, orderBody, sendAll, signedRequest } from '../load.ts'
import { placePlainly } from '../plain-sql.ts'

const ORDERS = 1_000
/**
 * Placed by each side before the first that counts. A gateway translates its code while it works: its first few thousand
 * orders, a minute of a dealer's, take half as long again as those after them.
 */
const WARM_ORDERS = 10_000
const WARM_CONNECTIONS = 16

export const latency: Figure = {
  name: 'latency',
  summary: 'p50 and p99 of a lone esim/order, against a lone plain transaction',
  async run(bench) {
    const gateway = await bench.startApi()
    const [tenant] = await bench.tenants(1)
    const [plain] = await bench.tenants(1)
    const p99 = { ours: [] as number[], against: [] as number[] }
    const ours = async () => {
      const requests = Array.from({ length: ORDERS }, () => signedRequest(tenant!, 'esim/order', orderBody()))
      const result = allSucceeded(await sendAll(gateway.baseUrl, requests, 1))
      p99.ours.push(result.p99Ms)
      return result.p50Ms
    }
    const against = async () => {
      const result = await placePlainly(bench.databaseUrl, [plain!.tenantId], ORDERS, 1)
      p99.against.push(result.p99Ms)
      return result.p50Ms
    }
    const warming = Array.from({ length: WARM_ORDERS }, () => signedRequest(tenant!, 'esim/order', orderBody()))
    allSucceeded(await sendAll(gateway.baseUrl, warming, WARM_CONNECTIONS))
    await placePlainly(bench.databaseUrl, [plain!.tenantId], WARM_ORDERS, WARM_CONNECTIONS)
    await ours()
    await against()
    p99.ours.length = p99.against.length = 0
    const common = { rounds: bench.rounds, progress: bench.progress }
    const result = await compare({
      ...common,
      name: 'latency',
      what: 'p50 in ms of a lone esim/order over HTTP, against a lone plain transaction',
      aim: { most: 2.5 },
      ours,
      against,
    })
    result.notes.push(`p99: ${median(p99.ours).toFixed(2)} ms against ${median(p99.against).toFixed(2)} ms`)
    await gateway.stop()
    return [result]
  },
}
