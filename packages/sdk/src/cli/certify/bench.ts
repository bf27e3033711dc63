import { randomUUID } from 'node:crypto'
import type { Notification, QueryAnswer } from '@dealer-esim/contract'
import type { DealerEsim } from '#client.ts'
import { DealerEsimError } from '#error.ts'
import { deliveryUpdated, orderPaid, signedEvent } from './events.ts'
import { type Belief, type Integration, IntegrationFault } from './integration.ts'
import type { Fault, OrderProxy } from './proxy.ts'

/** What the cases work with. `esim` calls the gateway directly, past the proxy. */
export interface Bench {
  esim: DealerEsim
  proxy: OrderProxy
  integration: Integration
  appKey: string
  appSecret: string
  /** A package that is delivered. */
  packageCode: string
}

/** One property of a case: what had to hold, and what was found. */
export interface Finding {
  expected: string
  found: string
  ok: boolean
}

export interface Case {
  name: string
  /** What the case does to the integration. */
  what: string
  /** The page that explains it. */
  page: string
  run(bench: Bench): Promise<Finding[]>
}

interface Wanted {
  packageCode?: string
  count?: number
  /** Added to the price of the package: the customer saw another one. */
  priceDifference?: number
  fault?: (arrival: number) => Fault
}

/** Lets the integration buy, with the fault in its way. @returns the reference of the purchase */
export async function buy(
  { esim, proxy, integration, packageCode: usual }: Bench,
  wanted: Wanted = {},
): Promise<string> {
  const { packageCode = usual, count = 1, priceDifference = 0, fault = () => undefined } = wanted
  const reference = `certify-${randomUUID()}`
  const [found] = (await esim.packages({ packageCode })).packageList
  const price = found?.status === 'ON_SALE' ? found.price : 0
  proxy.begin(fault)
  await integration.order({ reference, packageCode, count, price: price + priceDifference })
  // An integration may notice another price without a call.
  if (proxy.calls === 0 && priceDifference === 0) {
    throw new IntegrationFault(`It made no call through the proxy. Start it with the base URL ${proxy.baseUrl}.`)
  }
  return reference
}

/** Ends the faults, lets the integration settle, and sends the events that the gateway would. @returns its orders as they are */
export async function settle(bench: Bench): Promise<QueryAnswer[]> {
  bench.proxy.endFaults()
  await bench.integration.settle()
  const orders = await ordersOf(bench)
  for (const order of orders) {
    for (const event of [orderPaid(order), deliveryUpdated(order, order.orderStatus, 2)]) await send(bench, event)
  }
  await bench.integration.settle()
  return orders
}

/** The orders that exist under the transactionIds which the integration has used since `buy`, once they have ended. */
export async function ordersOf({ esim, proxy }: Bench): Promise<QueryAnswer[]> {
  const ids = [...new Set(proxy.orders.map(({ transactionId }) => transactionId))]
  const found = await Promise.all(ids.map((transactionId) => esim.waitForOrder({ transactionId }).catch(orNothing)))
  return found.filter((order) => order !== undefined)
}

function orNothing(error: unknown): undefined {
  if (error instanceof DealerEsimError && error.is('200013')) return undefined
  throw error
}

interface EventFault {
  /** Signs with these secrets instead: of both headers, or of the Standard Webhooks headers and of the request scheme. */
  secrets?: readonly string[]
  requestSecret?: string
  ageMs?: number
}

/** Posts an event to the integration. @returns the HTTP status */
export async function send(bench: Bench, event: Notification, fault: EventFault = {}): Promise<number> {
  const { appKey, appSecret, integration } = bench
  const { secrets = [appSecret], requestSecret = appSecret, ageMs = 0 } = fault
  return integration.event(await signedEvent(event, { appKey, secrets, requestSecret, nowMs: Date.now() - ageMs }))
}

/** What an integration has to believe about an order that has ended. */
export function truthOf(order: QueryAnswer): Belief {
  const esims = order.packageInfoList.reduce((sum, { deliveredCount }) => sum + deliveredCount, 0)
  const { refundedAmount } = order
  const status = esims === 0 ? 'FAILED' : refundedAmount > 0 ? 'PARTIALLY_DELIVERED' : 'DELIVERED'
  return { status, esims, refundedAmount, handedOver: esims > 0 ? 1 : 0 }
}

export const NOTHING_BOUGHT: Belief = { status: 'REFUSED', esims: 0, refundedAmount: 0, handedOver: 0 }

export async function believes({ integration }: Bench, reference: string, ...allowed: Belief[]): Promise<Finding> {
  const found = text(await integration.believed(reference))
  return {
    expected: `it believes ${allowed.map(text).join(', or ')}`,
    found,
    ok: allowed.some((each) => text(each) === found),
  }
}

/** Exactly one order, whatever happened; or none, where nothing may be bought. */
export function bought(orders: readonly QueryAnswer[], ...allowed: number[]): Finding {
  const count = (number: number) => `${number} ${number === 1 ? 'order' : 'orders'}`
  return {
    expected: `${allowed.map(count).join(' or ')} at the gateway`,
    found: count(orders.length),
    ok: allowed.includes(orders.length),
  }
}

/** One order and its truth, or none and nothing believed to be bought. */
export async function agrees(bench: Bench, reference: string, orders: readonly QueryAnswer[], mayRefuse = false) {
  const [order] = orders
  return [
    bought(orders, 1, ...(mayRefuse ? [0] : [])),
    await believes(bench, reference, order ? truthOf(order) : NOTHING_BOUGHT),
  ]
}

function text({ status, esims, refundedAmount, handedOver }: Belief): string {
  return `${status}, eSIMs: ${esims}, refunded: ${refundedAmount}, handed over: ${handedOver}`
}
