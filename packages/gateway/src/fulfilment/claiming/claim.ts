import type { Snapshot } from '../../catalogue/catalogue.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import { changeOrders, type OrderChange } from '../../orders/change.ts'
import { itemKeyOf } from '../../orders/item.ts'
import { type LockedItem, type LockedOrder, readProfiles } from '../../orders/lock.ts'
import type { Supplied } from '../../suppliers/registry.ts'
import type { PriceGuard } from '../../suppliers/supplier.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { NOT_CHARGED, writeItems } from '../outcomes/items.ts'
import { isPast } from '../outcomes/outcome.ts'
import { type LeasedOrders, leaseDueOrders } from './due-orders.ts'
import { nextStep, type Step } from './plan.ts'

/** One committed attempt at one item, to be sent by us and nobody else. */
export interface Attempt {
  attemptId: string
  orderId: string
  itemNo: number
  key: string
  supplied: Supplied
  productCode: string
  guard?: PriceGuard | undefined
  operation: 'ORDER' | 'QUERY'
  startedAt: Date
  /** When the latest earlier purchase began that may still be at work; null: there is none. */
  doubtSince: Date | null
}

/** Orders of one tenant that we hold, and what we owe them: attempts to send, refusals to record. */
export interface Claim {
  tenantId: string
  leaseToken: string
  attempts: Attempt[]
  /** Items that no supplier may be asked for. Refunding takes the wallet's lock before the orders', so not here. */
  refusals: { orderId: string; itemNo: number; words: string }[]
  /** How many orders were taken: fewer than CLAIM_ORDERS means that no more are due. */
  orderCount: number
  /** Those of them that were not handed back at once. */
  heldCount: number
  /** When the earliest of the orders that were handed back is due again. */
  nextDueAt: Date | undefined
}

/** Orders that one claim takes: bounds a transaction, and how long other tenants wait for their turn. */
export const CLAIM_ORDERS_MAX = 200
/** A supplier that is not there (paused, not configured) is looked for again after this long. */
const ABSENT_MS = 10_000
const REVIEWED_AGAIN_MS = 60_000
/** What was not bought has lost nothing by waiting for its turn: this long at least. */
const NOT_BOUGHT_MS = 3_600_000
/** What the column holds. */
const ATTEMPTS_COUNTED = 32_767

/**
 * Claims a tenant's due orders, decides each open item's next step, and commits the attempts: two round trips, however
 * many. Orders of which nobody can be asked now are handed back in the same transaction.
 */
export async function claimDueOrders(deps: FulfilmentDeps, tenantId: string, most: number): Promise<Claim> {
  const claim: Claim = {
    tenantId,
    leaseToken: deps.ids.uuid(),
    attempts: [],
    refusals: [],
    orderCount: 0,
    heldCount: 0,
    nextDueAt: undefined,
  }
  let eventsToSend = false
  try {
    await deps.db.tx(async (tx) => {
      const claimed = await leaseDueOrders(tx, tenantId, claim.leaseToken, most)
      await failpoint('fulfilment.claimed')
      claim.orderCount = claimed.orders.length
      if (claim.orderCount === 0) return
      const begunBefore = claimed.orders.filter((order) => order.items.some((item) => item.itemStatus === 'DELIVERED'))
      await readProfiles(tx, tenantId, begunBefore)
      const changes = await decide(tx, deps, claim, claimed)
      insertAttempts(tx, claim)
      writeItems(tx, tenantId, changes.items, claimed.now)
      eventsToSend = changeOrders(tx, deps, tenantId, changes.orders, claimed.now)
      await failpoint('fulfilment.before-attempt')
    })
  } catch (error) {
    for (const attempt of claim.attempts) attempt.supplied.gate.giveBack(tenantId, 1)
    throw error
  }
  await failpoint('fulfilment.after-attempt')
  if (eventsToSend) deps.wake.wake('webhooks')
  return claim
}

interface Changes {
  orders: OrderChange[]
  items: { orderId: string; item: LockedItem }[]
}

async function decide(tx: Tx, deps: FulfilmentDeps, claim: Claim, claimed: LeasedOrders): Promise<Changes> {
  const { now } = claimed
  const catalogue = await deps.catalogue.current(claimed.catalogueVersion)
  const changes: Changes = { orders: [], items: [] }
  const missing = await missingSuppliers(tx, deps, catalogue, claimed.orders)
  for (const order of claimed.orders) {
    const taken = order.items.map((item) => {
      const step = nextStep(item, order, catalogue.find(item.packageCode), missing, now)
      return takeStep(deps, claim, changes, { order, item, step, now })
    })
    const change: OrderChange = { order, profilesChanged: false }
    if (taken.includes('busy')) claim.heldCount += 1
    else
      change.release = handBack(
        claim,
        taken.filter((until) => until instanceof Date),
      )
    changes.orders.push(change)
  }
  return changes
}

/**
 * Suppliers that packages name and nobody has set up: nothing was ever bought there. One that this node does not know yet,
 * or cannot use, is not missing.
 */
async function missingSuppliers(
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

interface ItemStep {
  order: LockedOrder
  item: LockedItem
  step: Step
  now: Date
}

/** @returns 'busy' where something is owed to the item now, else when to come again, if ever by itself */
function takeStep(
  deps: FulfilmentDeps,
  claim: Claim,
  changes: Changes,
  { order, item, step, now }: ItemStep,
): 'busy' | Date | undefined {
  switch (step.do) {
    case 'nothing':
      return undefined
    case 'wait':
      return step.until
    case 'refuse':
      claim.refusals.push({ orderId: order.orderId, itemNo: item.itemNo, words: step.words })
      return 'busy'
    case 'order':
    case 'query': {
      const name = step.do === 'order' ? step.route.supplier : step.supplier
      const found = findPlace(deps, claim.tenantId, name, order, item, now)
      if ('until' in found) return found.until
      changes.items.push({ orderId: order.orderId, item })
      if ('late' in found) {
        // One that a worker left in the middle says so only by its state, which it loses here.
        const inDoubtAt = step.do === 'query' ? step.inDoubtAt : null
        Object.assign(item, { itemStatus: 'REVIEW', failureReason: found.late, retryAt: found.again, inDoubtAt })
        return found.again
      }
      claim.attempts.push(beginAttempt(deps, order.orderId, item, found.supplied, step, now))
      return 'busy'
    }
    default:
      return step satisfies never
  }
}

/** A place at the supplier; or the moment to come again; or, past the deadline, why it goes to review. */
function findPlace(
  deps: FulfilmentDeps,
  tenantId: string,
  name: string,
  order: LockedOrder,
  item: LockedItem,
  now: Date,
): { supplied: Supplied } | { until: Date } | { late: string; again: Date } {
  const supplied = deps.suppliers.get(name)
  // An operator who pauses a supplier knows that its orders wait: no deadline for those.
  if (supplied === undefined || supplied.paused) return { until: new Date(now.getTime() + ABSENT_MS) }
  if (supplied.gate.take(tenantId, 1) === 1) return { supplied }
  if (item.itemStatus !== 'REVIEW' && isTooLate(supplied, order, item, now)) {
    return { late: `${name} could not be asked in time`, again: new Date(now.getTime() + REVIEWED_AGAIN_MS) }
  }
  return { until: new Date(now.getTime() + supplied.gate.comeAgainIn(tenantId)) }
}

/** For what was not bought only a supplier counts that is down for long: a queue, or a pause that is over, ends by itself. */
function isTooLate({ supplier, gate }: Supplied, order: LockedOrder, item: LockedItem, now: Date): boolean {
  const { giveUpAfterMs } = supplier.traits
  const since = item.askedAt ?? order.createdAt
  if (item.itemStatus !== 'WAITING') return isPast(since, giveUpAfterMs, now)
  return gate.state !== 'closed' && isPast(since, Math.max(giveUpAfterMs, NOT_BOUGHT_MS), now)
}

/** Marks the item as asked for. A purchase fixes the supplier's terms on it; a question leaves them as they are. */
function beginAttempt(
  deps: FulfilmentDeps,
  orderId: string,
  item: LockedItem,
  supplied: Supplied,
  step: Step & { do: 'order' | 'query' },
  now: Date,
): Attempt {
  const doubtSince = step.do === 'query' ? step.inDoubtAt : null
  const isReviewed = item.itemStatus === 'REVIEW'
  // Should we die in the middle, a question that may buy is what is in doubt then; so is what is bought from review.
  const mayBuy = step.do === 'order' ? isReviewed : supplied.supplier.traits.queryBuys === true
  // What was charged for it before came to nothing, or it would not be bought: at another supplier, or once more.
  if (step.do === 'order') Object.assign(item, step.route, { routeNo: step.routeNo, ...NOT_CHARGED })
  if (!isReviewed) item.itemStatus = step.do === 'order' ? 'ASKED' : 'UNKNOWN'
  item.inDoubtAt = mayBuy ? now : doubtSince
  item.attempts = Math.min(item.attempts + 1, ATTEMPTS_COUNTED)
  item.askedAt ??= now
  item.retryAt = null
  return {
    attemptId: deps.ids.uuid(),
    orderId,
    itemNo: item.itemNo,
    key: itemKeyOf(orderId, item.itemNo),
    supplied,
    productCode: item.productCode!,
    guard: step.do === 'order' ? step.guard : undefined,
    operation: step.do === 'order' ? 'ORDER' : 'QUERY',
    startedAt: now,
    doubtSince,
  }
}

function handBack(claim: Claim, waits: Date[]): { dueAt: Date | null } {
  const dueAt = waits.length === 0 ? null : new Date(Math.min(...waits.map((wait) => wait.getTime())))
  if (dueAt !== null && (claim.nextDueAt === undefined || dueAt < claim.nextDueAt)) claim.nextDueAt = dueAt
  return { dueAt }
}

function insertAttempts(tx: Tx, { tenantId, leaseToken, attempts }: Claim): void {
  if (attempts.length === 0) return
  tx.send({
    name: 'fulfilment-attempts',
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
             started_at)
           select $1, a.*, $7, $8
           from unnest($2::uuid[], $3::uuid[], $4::smallint[], $5::text[], $6::text[]) as a`,
    values: [
      tenantId,
      attempts.map((attempt) => attempt.attemptId),
      attempts.map((attempt) => attempt.orderId),
      attempts.map((attempt) => attempt.itemNo),
      attempts.map((attempt) => attempt.supplied.supplier.name),
      attempts.map((attempt) => attempt.operation),
      leaseToken,
      attempts[0]!.startedAt,
    ],
  })
}
