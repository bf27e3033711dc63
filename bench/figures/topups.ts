import { setTimeout as delay } from 'node:timers/promises'
import { compare } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { type Credentials, orderBody, requireSuccess, sendAll, signedRequest, topupBody } from '../load.ts'

/** Two seconds of work on each side. */
const ORDERS = 20_000
const TURNS = 3
const WARM_TURNS = 2
const CONNECTIONS = 400
/** The eSIMs that are topped up in turn: at most four open top-ups each, as nothing is fulfilled meanwhile. */
const ESIMS = 5_000
const DELIVERY_TIMEOUT_MS = 60_000

export const topups: Figure = {
  name: 'topups',
  summary: 'signed esim/topup/s on one wallet, against esim/order/s of the same gateway',
  async run(bench) {
    const [toppingUp, ordering] = await bench.createTenants(2)
    const esims = await buyEsims(bench, toppingUp!)
    const gateway = await bench.startApi()
    let acknowledged = 0
    const send = async (dealer: Credentials, operation: string, bodyAt: (index: number) => string) => {
      const requests = Array.from({ length: ORDERS }, (_, index) => signedRequest(dealer, operation, bodyAt(index)))
      return requireSuccess(await sendAll(gateway.baseUrl, requests, CONNECTIONS)).perSecond
    }
    const topUp = async () => {
      const perSecond = await send(toppingUp!, 'esim/topup', (index) => topupBody(esims[index % ESIMS]!))
      acknowledged += ORDERS
      await endTopUps(bench, toppingUp!.tenantId)
      return perSecond
    }
    const order = () => send(ordering!, 'esim/order', () => orderBody())
    for (let warmed = 0; warmed < WARM_TURNS; warmed++) {
      await topUp()
      await order()
    }
    const result = await compare({
      name: 'topups',
      what: `signed esim/topup/s over HTTP, one wallet, ${ESIMS} eSIMs in turn, ${CONNECTIONS} connections, against signed esim/order/s on one wallet of the same gateway`,
      aim: { min: 0.9 },
      rounds: bench.rounds,
      turnsPerRound: TURNS,
      progress: bench.progress,
      ours: topUp,
      against: order,
    })
    result.notes.push(await verifyTopUps(bench, toppingUp!.tenantId, acknowledged))
    await gateway.stop()
    return [result]
  },
}

/** @returns the esimTranNo of each eSIM. */
async function buyEsims(bench: Environment, dealer: Credentials & { tenantId: string }): Promise<string[]> {
  const gateway = await bench.startAll()
  const orders = Array.from({ length: ESIMS }, () => signedRequest(dealer, 'esim/order', orderBody()))
  requireSuccess(await sendAll(gateway.baseUrl, orders, CONNECTIONS))
  const deadline = performance.now() + DELIVERY_TIMEOUT_MS
  for (;;) {
    const profiles = await bench.db.query<{ profileId: string }>({
      text: 'select profile_id from profiles where tenant_id = $1 order by profile_id',
      values: [dealer.tenantId],
    })
    if (profiles.length === ESIMS) {
      await gateway.stop()
      return profiles.map(({ profileId }) => profileId)
    }
    if (performance.now() > deadline) throw new Error(`Only ${profiles.length} of ${ESIMS} eSIMs were delivered.`)
    await delay(100)
  }
}

/** As fulfilment would have done meanwhile: an eSIM has few open top-ups. Not part of the measured time. */
async function endTopUps({ db }: Environment, tenantId: string): Promise<void> {
  const text = `update orders set order_status = 'DELIVERED', due_at = null where tenant_id = $1 and order_status = 'PAID'`
  await db.query({ text, values: [tenantId] })
  await db.query({ text: 'vacuum analyze orders' })
}

/** Checks that each acknowledged top-up has one row each in orders, order_items and transfers. @throws otherwise */
async function verifyTopUps({ db }: Environment, tenantId: string, acknowledged: number): Promise<string> {
  const [found] = await db.query<Record<'orders' | 'items' | 'debits', number>>({
    text: `select count(*)::int as orders,
             (select count(*)::int from order_items i where i.tenant_id = $1
                and exists (select from orders o where o.tenant_id = $1 and o.order_id = i.order_id and order_type = 'TOPUP')) as items,
             (select count(*)::int from transfers where tenant_id = $1 and kind = 'ESIM_TOPUP') as debits
           from orders where tenant_id = $1 and order_type = 'TOPUP'`,
    values: [tenantId],
  })
  if (Object.values(found!).some((count) => count !== acknowledged))
    throw new Error(`${acknowledged} top-ups acknowledged, found ${JSON.stringify(found)}`)
  return `${acknowledged} top-ups acknowledged; as many orders, items and debits found`
}
