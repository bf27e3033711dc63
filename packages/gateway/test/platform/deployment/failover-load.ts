import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { expect } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import type { RequestedOrder } from '#test/orders/order-load.ts'
import type { Receiver } from '#test/webhooks/receiver.ts'

const PRODUCT = 'SANDBOX_OK'
/** Each node is sent an order at this interval, even if earlier ones have not been answered. */
const BETWEEN_ORDERS_MS = 100
/**
 * During a failure no order is acknowledged, and each is only one more to compare in the end: a node that has acknowledged none
 * for a second is sent fewer.
 */
const SILENT_AFTER_MS = 1_000
const BETWEEN_ORDERS_IN_SILENCE_MS = 500
/** How many orders each node acknowledges before the failure. */
export const UNDISTURBED_ORDERS = 10
/** The RequestIDs of orders acknowledged within this time before the failure are sent again. */
const REPLAYED_MS = 1_500
/** Ten times as long as nodes take to leave a server that still runs. Only a node that never recovers exceeds it. */
const FAILOVER_MAX_MS = 150_000

export interface SentOrder extends RequestedOrder {
  body: string
  requestId: string
  timestamp: number
  sentAt: number
  acknowledgedAt: number | undefined
}

/** Orders to one node, sent until stopped. */
export interface NodeLoad {
  readonly own: readonly SentOrder[]
  readonly acknowledged: number
  /**
   * How long after `since` the node first acknowledged an order that it received after that time.
   * @throws Error with the latest answers if it does not acknowledge one for minutes
   */
  firstAnswer(since: number): Promise<number>
  stop(): Promise<void>
}

/** A dealer with one package to order and a callback URL. */
export async function prepareDealer(operator: Node, receiver: Receiver): Promise<Dealer> {
  const { deps } = operator
  await addSupplier(deps, { name: 'shop', type: 'sandbox', config: { giveUpAfterMs: 86_400_000 } }, OPERATOR)
  const prices = [{ currencyCode: 'USD', price: 1_000, retailPrice: null }]
  const suppliers = [{ supplier: 'shop', productCode: PRODUCT }]
  await putPackages(deps, [packageInput({ packageCode: PRODUCT, status: 'ON_SALE', prices, suppliers })], OPERATOR)
  const dealer = await addDealer(deps)
  const setting = await call(operator, dealer, 'webhook/set', { body: JSON.stringify({ callbackUrl: receiver.url }) })
  expect(setting.code).toBe('000000')
  return dealer
}

/** @param sent gets each order before it is sent */
export function startNodeLoad(gateway: { baseUrl: string }, dealer: Dealer, sent: SentOrder[]): NodeLoad {
  const sending: Promise<void>[] = []
  const own: SentOrder[] = []
  let isStopped = false
  let heardAt = performance.now()
  async function send(): Promise<void> {
    const packageInfoList = [{ packageCode: PRODUCT, count: 1 }]
    const transactionId = randomUUID()
    const order: SentOrder = {
      transactionId,
      packageInfoList,
      answers: [],
      durationsMs: [],
      body: JSON.stringify({ transactionId, packageInfoList }),
      requestId: randomUUID(),
      timestamp: Date.now(),
      sentAt: performance.now(),
      acknowledgedAt: undefined,
    }
    sent.push(order)
    own.push(order)
    // A connection that was closed just as it was used again: the records later show whether the order exists.
    const answer = await call(gateway, dealer, 'esim/order', order).catch(() => undefined)
    order.durationsMs.push(performance.now() - order.sentAt)
    if (answer) order.answers.push(answer)
    if (answer?.code === '000000') {
      heardAt = performance.now()
      order.acknowledgedAt = heardAt
    }
  }
  const running = (async () => {
    while (!isStopped) {
      sending.push(send())
      const isSilent = performance.now() - heardAt > SILENT_AFTER_MS
      await delay(isSilent ? BETWEEN_ORDERS_IN_SILENCE_MS : BETWEEN_ORDERS_MS)
    }
  })()
  return {
    own,
    get acknowledged() {
      return own.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined).length
    },
    async firstAnswer(since) {
      for (;;) {
        const answered = own.find(({ sentAt, acknowledgedAt }) => sentAt > since && acknowledgedAt !== undefined)
        if (answered) return answered.acknowledgedAt! - since
        if (performance.now() - since > FAILOVER_MAX_MS) {
          const latest = own.slice(-20).map(({ answers }) => answers[0]?.code ?? 'no answer')
          throw new Error(`no order was acknowledged for ${FAILOVER_MAX_MS / 1000} s; the latest answers: ${latest}`)
        }
        await delay(10)
      }
    },
    async stop() {
      isStopped = true
      await running
      await Promise.all(sending)
    },
  }
}

/** The orders whose RequestIDs may have been lost in the failure. */
export function recentOrders(loads: readonly NodeLoad[], failedAt: number): SentOrder[] {
  const recent = loads.flatMap(({ own }) => own.filter(({ acknowledgedAt: at = 0 }) => at > failedAt - REPLAYED_MS))
  expect(recent.length).toBeGreaterThan(5)
  return recent
}

/** How many RequestIDs of acknowledged orders are accepted a second time. */
export async function acceptedTwice(
  gateways: readonly { baseUrl: string }[],
  dealer: Dealer,
  orders: readonly SentOrder[],
): Promise<number> {
  const codes = await Promise.all(
    orders.map(({ body, requestId, timestamp }, index) =>
      call(gateways[index % gateways.length]!, dealer, 'esim/order', { body, requestId, timestamp }).then(
        ({ code }) => code,
        () => 'lost',
      ),
    ),
  )
  // A node that has just found its database may refuse some for its load.
  for (const code of codes) expect(['101006', '000000', '000002', 'lost']).toContain(code)
  expect(codes.filter((code) => code === 'lost' || code === '000002').length).toBeLessThan(codes.length / 2)
  return codes.filter((code) => code === '000000').length
}

/** Pretends that a minute has passed since a worker lost its connection while it held orders. */
export async function letLeasesExpire(db: Db): Promise<void> {
  await db.tx(async (tx) => {
    tx.send({ text: 'update orders set due_at = now(), lease_until = null where due_at is not null' })
    tx.send({
      text: `update order_items set in_doubt_at = in_doubt_at - interval '1 minute',
               updated_at = updated_at - interval '1 minute' where item_status = 'ASKED'`,
    })
  })
}
