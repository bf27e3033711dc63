import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { readReferences } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { Snapshot } from '#catalogue/catalogue.ts'
import { changeOrders, type OrderChange } from '#orders/change-order.ts'
import {
  countAttempt,
  type KeptOrder,
  type LockedItem,
  type LockedOrder,
  markAsked,
  readProfiles,
} from '#orders/lock-orders.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { lockLackOfMoney } from '#suppliers/balance/lack-of-money.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import { type LeasedOrders, leaseDueOrders } from './order-lease.ts'
import { isPast } from './outcomes/item-transition.ts'
import type { FulfilmentDeps } from './outcomes/outcome-deps.ts'
import { type Attempt, insertAttempts, NOT_CHARGED, writeItems } from './outcomes/outcome-items.ts'
import { type EsimOfTopUp, readEsimsOfTopUps } from './outcomes/top-up-orders.ts'
import { nextStep, onlyFrom, type SkippedSuppliers, type Step } from './plan-step.ts'
import { readSpendLimits, suppliersOf } from './spend-limits.ts'

/** Leased orders of one tenant, with the attempts to send and the refusals to save. */
export interface Claim {
  tenantId: string
  leaseToken: string
  attempts: Attempt[]
  /**
   * Items for which no supplier may be called. Saved later, because a refund locks the wallet, which must be locked before
   * orders.
   */
  refusals: { orderId: string; itemNo: number; message: string }[]
  /** Orders that are written with their outcome, by orderId. */
  kept: Map<string, KeptOrder>
  /** The leased orders. If there are fewer than CLAIM_ORDERS_MAX, no more are due. */
  orderCount: number
  /** Leased orders that were not released immediately. */
  heldCount: number
  /** When the first of the released orders is due again. */
  nextDueAt: Date | undefined
}

/** Limits the size of a transaction, and how long other tenants wait for their turn. */
export const CLAIM_ORDERS_MAX = 200
/** How long orders wait if their supplier is paused or not configured. */
const UNAVAILABLE_MS = 10_000
/**
 * How long orders wait if their supplier lacks money according to this node but not the database: the node has not yet
 * recorded the lack, or has not yet noticed its end.
 */
const MONEY_UNCERTAIN_MS = 1_000
const REVIEW_RETRY_MS = 60_000
/** An item that was never ordered waits at least this long before going to review. */
const NEVER_ORDERED_MS = 3_600_000

/**
 * Leases a tenant's due orders, decides each open item's next step, and commits the attempts: two round trips for any number
 * of orders. Orders that cannot proceed now are released in the same transaction.
 *
 * For a purchase only the lease of its order is written here. Items and status are written with the outcome, or earlier if a
 * supplier is slow (outcomes/save-outcomes.ts), so that each row is written once.
 */
export async function claimDueOrders(deps: FulfilmentDeps, tenantId: string, limit: number): Promise<Claim> {
  const counts = { orderCount: 0, heldCount: 0, nextDueAt: undefined }
  const claim: Claim = { tenantId, leaseToken: deps.ids.uuid(), attempts: [], refusals: [], kept: new Map(), ...counts }
  let eventsToSend = false
  try {
    await deps.db.tx(async (tx) => {
      const leased = await leaseDueOrders(tx, tenantId, claim.leaseToken, limit)
      await failpoint('fulfilment.claimed')
      claim.orderCount = leased.orders.length
      if (claim.orderCount === 0) return
      const partlyDelivered = leased.orders.filter(({ items }) => items.some((item) => item.itemStatus === 'DELIVERED'))
      await readProfiles(tx, tenantId, partlyDelivered)
      const changes = await decide(tx, deps, claim, leased)
      insertAttempts(tx, tenantId, claim.leaseToken, claim.attempts)
      writeItems(tx, tenantId, itemsOf(changes), leased.now)
      eventsToSend = changeOrders(tx, deps, tenantId, changes.orders, leased.tenantNow)
      // Outcomes of such orders are dated in test time, which is read under their locks.
      if (leased.tenantNow > leased.now) claim.kept.clear()
      await failpoint('fulfilment.before-attempt')
    })
  } catch (error) {
    for (const attempt of claim.attempts) attempt.supplied.gate.release(tenantId, 1)
    throw error
  }
  await failpoint('fulfilment.after-attempt')
  if (eventsToSend) deps.wake.wake('webhooks', [tenantId])
  return claim
}

interface Changes {
  orders: OrderChange[]
  /** The items to write, each with the id of its order. */
  items: Map<LockedItem, string>
}

function itemsOf({ items }: Changes): { orderId: string; item: LockedItem }[] {
  return [...items].map(([item, orderId]) => ({ orderId, item }))
}

async function decide(tx: Tx, deps: FulfilmentDeps, claim: Claim, leased: LeasedOrders): Promise<Changes> {
  const { now } = leased
  const catalogue = await deps.catalogue.current(leased.catalogueVersion)
  const changes: Changes = { orders: [], items: new Map(leased.askedItems.map(({ orderId, item }) => [item, orderId])) }
  const missing = await findMissingSuppliers(tx, deps, catalogue, leased.orders)
  const skipped: SkippedSuppliers = { missing, isInterrupted: (name) => isInterrupted(deps.suppliers.get(name)) }
  const topUpIds = leased.orders.filter((order) => order.orderType === 'TOPUP').map(({ orderId }) => orderId)
  const topUps = await readEsimsOfTopUps(tx, deps.cipher, claim.tenantId, topUpIds)
  const findReference = await readReferences(tx, claim.tenantId, leased.orders)
  const limits = await readSpendLimits(tx, deps, catalogue, leased)
  const withoutMoney = await findWithoutMoney(tx, deps, suppliersOf(leased.orders, catalogue))
  for (const order of leased.orders) {
    const firstAttempt = claim.attempts.length
    const topUp = topUps.get(order.orderId)
    const next = order.items.map((item) => {
      const bought = catalogue.find(item.packageCode)
      const terms = { currencyCode: order.currencyCode, periodNum: order.packageLines[item.lineNo]?.periodNum }
      const sold = topUp ? onlyFrom(topUp.supplier, bought) : bought
      const step = limits.within({ order, item }, missing, (excluded) =>
        nextStep(item, terms, sold, { ...skipped, missing: excluded }, now),
      )
      return takeStep(deps, claim, changes, {
        order,
        item,
        step: topUp ? inTurn(step, topUp, now) : step,
        topUp,
        reference: findReference({ orderId: order.orderId, itemNo: item.itemNo }),
        withoutMoney,
        now,
      })
    })
    const change: OrderChange = { order, profilesChanged: false }
    const waits = next.filter((until) => until instanceof Date)
    if (next.includes('busy')) claim.heldCount += 1
    else change.release = release(claim, waits)
    if (order.items.some((item) => changes.items.has(item))) {
      writeAsked(changes, claim.attempts.slice(firstAttempt))
    } else if (claim.attempts.length > firstAttempt) {
      claim.kept.set(order.orderId, { order, version: leased.versions.get(order.orderId)! })
      continue
    }
    changes.orders.push(change)
  }
  await limits.count(claim.attempts)
  return changes
}

/** Adds an order's purchased items to the rows to write: if any part of an order must be written now, all of it is. */
function writeAsked(changes: Changes, attempts: readonly Attempt[]): void {
  for (const attempt of attempts) {
    if (attempt.unwritten !== undefined) changes.items.set(attempt.unwritten, attempt.orderId)
  }
}

/**
 * Finds suppliers that packages refer to but that do not exist in the database, so nothing was ever bought from them. A
 * supplier that this node has not loaded yet, or cannot use, is not missing.
 */
async function findMissingSuppliers(
  tx: Tx,
  deps: FulfilmentDeps,
  catalogue: Snapshot,
  orders: readonly LockedOrder[],
): Promise<ReadonlySet<string>> {
  const unknown = new Set<string>()
  for (const { items } of orders) {
    for (const { itemStatus, supplier, packageCode } of items) {
      if (itemStatus !== 'WAITING' || supplier !== null) continue
      for (const route of catalogue.find(packageCode)?.routes ?? []) {
        if (deps.suppliers.get(route.supplier) === undefined) unknown.add(route.supplier)
      }
    }
  }
  if (unknown.size === 0) return unknown
  const existing = await tx.query<{ supplier: string }>({
    name: 'fulfilment-suppliers',
    text: 'select supplier from suppliers where supplier = any ($1::text[])',
    values: [[...unknown]],
  })
  for (const { supplier } of existing) unknown.delete(supplier)
  return unknown
}

/**
 * Finds suppliers that lack money according to both this node and the database. If this node does not know of any, no
 * statement is sent.
 */
async function findWithoutMoney(
  tx: Tx,
  { suppliers }: FulfilmentDeps,
  names: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const known = [...names].filter((name) => suppliers.get(name)?.gate.awaitsMoney)
  return known.length === 0 ? new Set() : lockLackOfMoney(tx, known)
}

/** False for a supplier that this node has not loaded yet; its orders wait until it has. */
function isInterrupted(supplied: ConfiguredSupplier | undefined): boolean {
  return supplied !== undefined && (supplied.paused || supplied.gate.isInterrupted)
}

const TURN_WAIT_MS = 1_000

/**
 * Holds back a top-up while earlier top-ups of its eSIM are undecided. When the last of them is decided, this one becomes
 * due (wakeNextTopUps). The wait, which grows with the number of earlier top-ups, applies only if that fails.
 */
function inTurn(step: Step, { earlierCount }: EsimOfTopUp, now: Date): Step {
  if (step.do !== 'order' || earlierCount === 0) return step
  return { do: 'wait', until: new Date(now.getTime() + earlierCount * TURN_WAIT_MS) }
}

interface ItemStep {
  order: LockedOrder
  item: LockedItem
  step: Step
  /** The eSIM, if the order is a TOPUP. */
  topUp: EsimOfTopUp | undefined
  /** The supplier's own name for the item's latest purchase. */
  reference: string | undefined
  /** Suppliers recorded as lacking money. */
  withoutMoney: ReadonlySet<string>
  now: Date
}

/** A step that calls a supplier. */
type CallStep = ItemStep & { step: { do: 'order' | 'query' } }

/**
 * @returns 'busy' if an attempt or a refusal follows now; otherwise when to try again, or undefined if only an operator can
 * continue
 */
function takeStep(deps: FulfilmentDeps, claim: Claim, changes: Changes, itemStep: ItemStep): 'busy' | Date | undefined {
  const { order, item, step } = itemStep
  switch (step.do) {
    case 'nothing':
      return undefined
    case 'wait':
      return step.until
    case 'refuse':
      claim.refusals.push({ orderId: order.orderId, itemNo: item.itemNo, message: step.message })
      return 'busy'
    case 'order':
    case 'query': {
      const permit = takePermit(deps, claim.tenantId, { ...itemStep, step })
      if ('until' in permit) {
        if (step.do === 'query') markNotAsked(changes, itemStep, permit.until)
        return permit.until
      }
      if (step.do === 'query' || item.itemStatus !== 'WAITING' || 'late' in permit)
        changes.items.set(item, order.orderId)
      if ('late' in permit) {
        // The state of an item that a stopped worker left ASKED is the only record of its doubt, and that state ends here.
        const inDoubtAt = step.do === 'query' ? step.inDoubtAt : null
        Object.assign(item, { itemStatus: 'REVIEW', failureReason: permit.late, retryAt: permit.retryAt, inDoubtAt })
        return permit.retryAt
      }
      claim.attempts.push(beginAttempt(deps, { ...itemStep, step }, permit.supplied))
      return 'busy'
    }
    default:
      return step satisfies never
  }
}

/** Records that no worker is querying an item under review, so that an operator may resolve it: its worker has stopped. */
function markNotAsked(changes: Changes, { order, item }: ItemStep, until: Date): void {
  if (item.itemStatus !== 'REVIEW' || item.retryAt !== null) return
  item.retryAt = until
  changes.items.set(item, order.orderId)
}

/**
 * Takes a permit from the supplier's gate; otherwise returns when to try again or, past the deadline, why the item goes to
 * review.
 */
function takePermit(
  deps: FulfilmentDeps,
  tenantId: string,
  { order, item, step, withoutMoney, now }: CallStep,
): { supplied: ConfiguredSupplier } | { until: Date } | { late: string; retryAt: Date } {
  const name = step.do === 'order' ? step.route.supplier : step.supplier
  const inMs = (ms: number) => new Date(now.getTime() + ms)
  const supplied = deps.suppliers.get(name)
  // An operator who pauses a supplier knows that its orders are waiting, so they have no deadline.
  if (supplied === undefined || supplied.paused) return { until: inMs(UNAVAILABLE_MS) }
  const { gate } = supplied
  if (step.do === 'order' && gate.awaitsMoney) {
    return { until: inMs(withoutMoney.has(name) ? gate.trialInMs() : MONEY_UNCERTAIN_MS) }
  }
  if (gate.acquire(tenantId, 1, step.do === 'order' ? 'PURCHASE' : 'QUERY') === 1) return { supplied }
  if (item.itemStatus !== 'REVIEW' && isTooLate(supplied, order, item, now)) {
    return { late: `${name} could not be asked in time`, retryAt: inMs(REVIEW_RETRY_MS) }
  }
  return { until: inMs(gate.retryInMs(tenantId)) }
}

/** A queue or a pause ends on its own, so an item that was never ordered counts as late only while its supplier is down. */
function isTooLate({ supplier, gate }: ConfiguredSupplier, order: LockedOrder, item: LockedItem, now: Date): boolean {
  const { giveUpAfterMs } = supplier.traits
  const since = item.requestedAt ?? order.createdAt
  if (item.itemStatus !== 'WAITING') return isPast(since, giveUpAfterMs, now)
  return gate.state !== 'closed' && isPast(since, Math.max(giveUpAfterMs, NEVER_ORDERED_MS), now)
}

/** Makes the item ASKED. A purchase sets the supplier's terms on the item; a query leaves them unchanged. */
function beginAttempt(
  deps: FulfilmentDeps,
  { order, item, step, topUp, reference, now }: CallStep,
  supplied: ConfiguredSupplier,
): Attempt {
  const { orderId } = order
  const doubtSince = step.do === 'query' ? step.inDoubtAt : null
  const isReviewed = item.itemStatus === 'REVIEW'
  // If this worker stops here, a query that may buy is in doubt, and so is a purchase from review.
  const mayBuy = step.do === 'order' ? isReviewed : supplied.supplier.traits.queryBuys === true
  const isBought = step.do === 'order' && item.itemStatus === 'WAITING'
  if (isBought) markAsked(item, { ...step.route, routeNo: step.routeNo }, now)
  else {
    // An earlier charge was given back: otherwise the item would not be bought again.
    if (step.do === 'order') Object.assign(item, step.route, { routeNo: step.routeNo, ...NOT_CHARGED })
    if (!isReviewed) item.itemStatus = 'UNKNOWN'
    item.inDoubtAt = mayBuy ? now : doubtSince
    item.attempts = countAttempt(item.attempts)
    if (item.requestedAt === null || item.requestedAt > now) item.requestedAt = now
    item.retryAt = null
  }
  return {
    attemptId: deps.ids.uuid(),
    orderId,
    itemNo: item.itemNo,
    key: itemKeyOf(orderId, item.itemNo),
    supplied,
    productCode: item.productCode!,
    guard: step.do === 'order' ? step.guard : undefined,
    operation: step.do === 'query' ? 'QUERY' : topUp ? 'TOPUP' : 'ORDER',
    periodNum: order.packageLines[item.lineNo]?.periodNum,
    topUp: topUp?.esim,
    reference: step.do === 'query' ? reference : undefined,
    startedAt: now,
    requestedAt: item.requestedAt ?? now,
    doubtSince,
    unwritten: isBought ? { ...item } : undefined,
  }
}

function release(claim: Claim, waits: Date[]): { dueAt: Date | null } {
  const dueAt = waits.length === 0 ? null : new Date(Math.min(...waits.map((wait) => wait.getTime())))
  if (dueAt !== null && (claim.nextDueAt === undefined || dueAt < claim.nextDueAt)) claim.nextDueAt = dueAt
  return { dueAt }
}
