import { compare } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { orderBody, requireSuccess, rtRequest, sendAll, signedRequest } from '../load.ts'
import { verifyRows } from '../verify-rows.ts'

const ORDERS = 20_000
const TURNS = 3
const WARM_TURNS = 2
/** As many as in order-hot. */
const CONNECTIONS = 400

export const rtOrders: Figure = {
  name: 'rt-orders',
  summary: "signed esim/order/s through the RT family's API, against the dealer API on the same wallet",
  async run(bench) {
    const gateway = await bench.startApi()
    const [dealer] = await bench.createTenants(1)
    let acknowledged = 0
    const rateOf = async (sign: typeof signedRequest) => {
      const requests = Array.from({ length: ORDERS }, () => sign(dealer!, 'esim/order', orderBody()))
      const result = requireSuccess(await sendAll(gateway.baseUrl, requests, CONNECTIONS))
      acknowledged += ORDERS
      return result.perSecond
    }
    for (let warmed = 0; warmed < WARM_TURNS; warmed++) {
      await rateOf(rtRequest)
      await rateOf(signedRequest)
    }
    const result = await compare({
      name: 'rt-orders',
      what: `signed esim/order/s under /api/v1/open/, 1 wallet, ${CONNECTIONS} connections, against esim/order/s of the dealer API (order-hot) on the same wallet and connections`,
      aim: { min: 0.85 },
      rounds: bench.rounds,
      turnsPerRound: TURNS,
      progress: bench.progress,
      ours: () => rateOf(rtRequest),
      against: () => rateOf(signedRequest),
    })
    result.notes.push(await verifyRows(bench.db, [dealer!.tenantId], acknowledged))
    result.notes.push('the gateway has the role api: neither side includes fulfilment')
    await gateway.stop()
    return [result]
  },
}
