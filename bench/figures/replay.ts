import { compare } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { orderBody, requireSuccess, sendAll, signedRequest } from '../load.ts'

const REQUESTS = 10_000
const CONNECTIONS = 64

export const replay: Figure = {
  name: 'replay',
  summary: 'replays/s of one transactionId, status read from the database, against health',
  async run(bench) {
    const gateway = await bench.startApi()
    const [tenant] = await bench.createTenants(1)
    const body = orderBody('replayed')
    const measure = async (operation: string, content: string) => {
      const requests = Array.from({ length: REQUESTS }, () => signedRequest(tenant!, operation, content))
      return requireSuccess(await sendAll(gateway.baseUrl, requests, CONNECTIONS)).perSecond
    }
    await measure('esim/order', body) // places the order, then warms up
    await measure('health', '{}')
    const result = await compare({
      name: 'replay',
      what: `replays/s of one transactionId, ${CONNECTIONS} connections, against health requests/s`,
      aim: { min: 0.5 },
      rounds: bench.rounds,
      progress: bench.progress,
      ours: () => measure('esim/order', body),
      against: () => measure('health', '{}'),
    })
    const [row] = await bench.db.query<{ count: number }>({
      text: 'select count(*)::int as count from orders where tenant_id = $1',
      values: [tenant!.tenantId],
    })
    if (row!.count !== 1) throw new Error(`${row!.count} orders were placed by replays of one order`)
    result.notes.push('one order was placed')
    await gateway.stop()
    return [result]
  },
}
