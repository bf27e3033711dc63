import { compare, median } from '../compare.ts'
import { type ProcessorTime, processorClock, spentPerCall } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { orderBody, requireSuccess, sendAll, signedRequest, topUpBody } from '../load.ts'
import { verifyRows } from '../verify-rows.ts'

const CALLS = 20_000
const TURNS = 3
const WARM_TURNS = 2
/** As many as in order-hot. */
const CONNECTIONS = 400

export const topups: Figure = {
  name: 'topups',
  summary: 'signed esim/topup/s over HTTP on one wallet, against esim/order on the same wallet',
  async run(bench) {
    const gateway = await bench.startApi()
    const [dealer] = await bench.createTenants(1)
    const { tenantId } = dealer!
    let acknowledged = 0
    /** Each is topped up once, because the open top-ups of an eSIM are read with it. */
    const esims: string[] = []
    const processorTime = await processorClock(bench.db, gateway.pid)
    const spent: Record<'esim/order' | 'esim/topup', ProcessorTime[]> = { 'esim/order': [], 'esim/topup': [] }
    const rateOf = async (operation: keyof typeof spent, bodies: string[]) => {
      const requests = bodies.map((body) => signedRequest(dealer!, operation, body))
      const before = processorTime()
      const result = requireSuccess(await sendAll(gateway.baseUrl, requests, CONNECTIONS))
      spent[operation].push(spentPerCall(before, processorTime(), bodies.length))
      acknowledged += bodies.length
      return result.perSecond
    }
    const order = async () => {
      const rate = await rateOf(
        'esim/order',
        Array.from({ length: CALLS }, () => orderBody()),
      )
      esims.push(...(await deliver(bench, tenantId)))
      return rate
    }
    const topUp = () => rateOf('esim/topup', esims.splice(0, CALLS).map(topUpBody))
    // The orders of a turn are the eSIMs of a later one: one turn is in reserve for a round that begins with top-ups.
    await order()
    for (let warmed = 0; warmed < WARM_TURNS; warmed++) {
      await order()
      await topUp()
    }
    const result = await compare({
      name: 'topups',
      what: `signed esim/topup/s over HTTP, 1 wallet, ${CONNECTIONS} connections, each on another eSIM, against esim/order/s on the same wallet and connections`,
      aim: { min: 0.9 },
      rounds: bench.rounds,
      turnsPerRound: TURNS,
      progress: bench.progress,
      ours: topUp,
      against: order,
    })
    result.notes.push(await verifyRows(bench.db, [tenantId], acknowledged))
    const measured = bench.rounds * TURNS
    result.notes.push(compareTimes(spent['esim/topup'].slice(-measured), spent['esim/order'].slice(-measured)))
    result.notes.push('the gateway has the role api: neither side includes fulfilment')
    await gateway.stop()
    return [result]
  },
}

function compareTimes(topUps: readonly ProcessorTime[], orders: readonly ProcessorTime[]): string {
  const medianOf = (turns: readonly ProcessorTime[], part: keyof ProcessorTime) =>
    median(turns.map((turn) => turn[part]))
  const both = (part: keyof ProcessorTime) =>
    `${medianOf(topUps, part).toFixed(0)} against ${medianOf(orders, part).toFixed(0)} µs`
  const total = (turns: readonly ProcessorTime[]) => medianOf(turns, 'gatewayUs') + medianOf(turns, 'serverUs')
  const ratio = (total(topUps) / total(orders)).toFixed(2)
  return `processor time of a top-up ${ratio} of an order's: gateway ${both('gatewayUs')}, server ${both('serverUs')}`
}

/** Gives each new order its eSIM, and ends the top-ups, as fulfilment would. An eSIM has the id of its order. @returns the ids */
async function deliver({ db }: Environment, tenantId: string): Promise<string[]> {
  const delivered = await db.query<{ profileId: string }>({
    text: `insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets,
             esim_status, total_volume, total_duration, duration_unit, created_at, updated_at)
           select tenant_id, order_id, order_id, 1, 'sandbox', '8943108' || lpad(wallet_version::text, 12, '0'),
             'smdp.example', '\\x00', 'GOT_RESOURCE', 1073741824, 7, 'DAY', created_at, created_at
           from orders where tenant_id = $1 and order_type = 'NEW' and order_status = 'PAID'
           returning profile_id`,
    values: [tenantId],
  })
  await db.query({
    text: `update orders set order_status = 'DELIVERED'
           where tenant_id = $1 and order_status = 'PAID'`,
    values: [tenantId],
  })
  await db.query({ text: 'analyze profiles' })
  return delivered.map(({ profileId }) => profileId)
}
