import type { CataloguePackage } from '../../catalogue/catalogue.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { changeOrders, type OrderChange } from '../../orders/change.ts'
import type { LockedItem, LockedOrder } from '../../orders/lock.ts'
import { refundItems } from '../../orders/refund.ts'
import { isOpen } from '../../orders/status.ts'
import { insertProfiles, type NewProfile } from '../../profiles/insert.ts'
import type { Suppliers } from '../../suppliers/registry.ts'
import type { Outcome } from '../../suppliers/supplier.ts'
import type { Attempt } from '../claiming/claim.ts'
import { hasNextRoute } from '../claiming/plan.ts'
import type { FulfilmentDeps } from './deps.ts'
import { NOT_CHARGED, setSupplierCharge, writeItems } from './items.ts'
import { keepOrphan, type Orphan } from './orphans.ts'
import { type Transition, transition, transitionOnDelivery } from './outcome.ts'
import { type WatchedItem, watchItem } from './watched-items.ts'

/** What came of one item; without an attempt where nobody could be asked, or an eSIM turned up. */
export interface ItemResult {
  orderId: string
  itemNo: number
  outcome: Outcome
  attempt?: Attempt
  /** Whose the eSIM is that turned up without an attempt. */
  supplier?: string
}

/** Under which right outcomes are written. */
export type LeaseState =
  /** We hold the orders' lease: what they wait for is handed back unless more is under way. */
  | { leaseToken: string; isBusy(orderId: string): boolean }
  /** We hold none: a late answer, a notice, reconciliation or an operator. Whoever has the lease keeps it. */
  | { leaseToken: undefined }

type ConsequencesDeps = Pick<FulfilmentDeps, 'ids' | 'cipher' | 'orderMetrics'> & {
  suppliers: Pick<Suppliers, 'get'>
}

/** Gathers what follows from results, to be written at once. Also used for what is learnt without a lease. */
export class OutcomeBatch {
  private readonly deps: ConsequencesDeps
  private readonly tenantId: string
  private readonly now: Date
  private readonly find: (packageCode: string) => CataloguePackage | undefined
  private readonly items = new Map<LockedItem, string>()
  private readonly profiles: NewProfile[] = []
  private readonly refused = new Map<string, { itemNo: number; amount: bigint; words: string }[]>()
  private readonly orphans: Orphan[] = []
  private readonly watched: WatchedItem[] = []
  private readonly releases = new Map<string, NonNullable<OrderChange['release']>>()

  constructor(
    deps: ConsequencesDeps,
    tenantId: string,
    now: Date,
    find: (packageCode: string) => CataloguePackage | undefined,
  ) {
    this.deps = deps
    this.tenantId = tenantId
    this.now = now
    this.find = find
  }

  /** Judges one result on the item as it is now. */
  apply(order: LockedOrder, result: ItemResult): Transition {
    const item = order.items.find((candidate) => candidate.itemNo === result.itemNo)
    if (item === undefined) throw new Error(`order ${order.orderId} has no item ${result.itemNo}`)
    const { attempt, outcome } = result
    const deliveredIccid = order.profiles.find((profile) => profile.itemNo === item.itemNo)?.iccid
    const made =
      attempt === undefined
        ? withoutAttempt(item, outcome, deliveredIccid)
        : transition(item, outcome, {
            now: this.now,
            startedAt: attempt.startedAt,
            doubtSince: attempt.doubtSince,
            operation: attempt.operation,
            traits: attempt.supplied.supplier.traits,
            deliveredIccid,
            hasNextRoute: hasNextRoute(item, this.find(item.packageCode)),
            jitter: this.deps.ids.bytes(1)[0]! / 255,
          })
    if (made.to === 'DELIVERED' && attempt !== undefined) this.takeOver(order, item, attempt)
    this.applyTransition(order, item, made, attempt?.supplied.supplier.name ?? result.supplier ?? item.supplier)
    if (outcome.kind === 'unknown' && made.to !== 'SAME') setSupplierCharge(item, outcome.charged)
    return made
  }

  /**
   * Delivered by a supplier whose word that it has nothing was believed, when another was asked already: the item is its
   * own again, on today's terms. What the other may have sold is nobody's: it is asked, and gives it back.
   */
  private takeOver({ orderId }: LockedOrder, item: LockedItem, { supplied, productCode }: Attempt): void {
    const supplier = supplied.supplier.name
    if (supplier === item.supplier) return
    if (item.supplier !== null && isInDoubt(item)) {
      const other = { supplier: item.supplier, productCode: item.productCode }
      this.watched.push({ orderId, itemNo: item.itemNo, purpose: 'DELIVERED_IN_DOUBT', ...other })
    }
    const routes = this.find(item.packageCode)?.routes ?? []
    const route = routes.find((one) => one.supplier === supplier && one.productCode === productCode)
    const [cost, costCurrency] = [route?.cost ?? null, route?.costCurrency ?? null]
    Object.assign(item, { supplier, productCode, cost, costCurrency, ...NOT_CHARGED })
  }

  applyTransition(order: LockedOrder, item: LockedItem, made: Transition, supplier: string | null): void {
    if (made.to === 'SAME') return
    if (made.to === 'ORPHAN') {
      this.orphans.push({ orderId: order.orderId, itemNo: item.itemNo, supplier: supplier!, esim: made.esim })
      return
    }
    this.items.set(item, order.orderId)
    if ('words' in made) item.failureReason = made.words
    item.retryAt = 'retryAt' in made ? made.retryAt : null
    item.inDoubtAt = 'inDoubtAt' in made ? made.inDoubtAt : null
    switch (made.to) {
      case 'DELIVERED':
        item.itemStatus = 'DELIVERED'
        item.failureReason = null
        setSupplierCharge(item, made.esim.charged)
        this.profiles.push({
          orderId: order.orderId,
          itemNo: item.itemNo,
          supplier: supplier!,
          esim: made.esim,
          bought: this.find(item.packageCode),
          isReported: this.deps.suppliers.get(supplier!)?.supplier.report !== undefined,
        })
        return
      case 'REFUSED': {
        item.itemStatus = 'REFUSED'
        Object.assign(item, NOT_CHARGED)
        const refused = this.refused.get(order.orderId) ?? []
        this.refused.set(order.orderId, refused)
        refused.push({ itemNo: item.itemNo, amount: item.price, words: made.words })
        return
      }
      case 'NEXT_ROUTE':
        item.itemStatus = 'WAITING'
        item.routeNo += 1
        Object.assign(item, { supplier: null, productCode: null, cost: null, costCurrency: null, askedAt: null })
        item.attempts = 0
        return
      case 'WAITING':
      case 'UNKNOWN':
      case 'REVIEW':
        item.itemStatus = made.to
        return
      default:
        made satisfies never
    }
  }

  /** Lets go of orders on which nothing is under way. @returns when the first of them is due again. */
  release(orders: Map<string, LockedOrder>, standing: LeaseState): Date | undefined {
    let next: Date | undefined
    for (const order of orders.values()) {
      if (standing.leaseToken !== undefined && standing.isBusy(order.orderId)) continue
      const dueAt = dueAgain(order, this.now)
      this.releases.set(order.orderId, { dueAt, keepLease: standing.leaseToken === undefined })
      if (dueAt !== null && (next === undefined || dueAt < next)) next = dueAt
    }
    return next
  }

  /** @returns whether there are events to send. */
  async write(tx: Tx, orders: Map<string, LockedOrder>): Promise<boolean> {
    const { deps, tenantId, now } = this
    const items = [...this.items].map(([item, orderId]) => ({ orderId, item }))
    writeItems(tx, tenantId, items, now)
    const inserted = insertProfiles(tx, deps, tenantId, this.profiles)
    for (const [index, profile] of inserted.entries()) {
      orders.get(this.profiles[index]!.orderId)!.profiles.push(profile)
    }
    for (const watched of this.watched) watchItem(tx, tenantId, watched, now)
    for (const orphan of this.orphans) await keepOrphan(tx, deps, tenantId, orphan, now)
    for (const [orderId, refused] of this.refused) {
      const reason = [...new Set(refused.map((item) => item.words))].join('; ')
      await refundItems(tx, tenantId, orders.get(orderId)!, refused, reason)
    }
    const delivered = new Set(this.profiles.map((profile) => profile.orderId))
    const changes = [...orders.values()].map((order): OrderChange => {
      const release = this.releases.get(order.orderId)
      return { order, profilesChanged: delivered.has(order.orderId), ...(release ? { release } : {}) }
    })
    return changeOrders(tx, deps, tenantId, changes, now)
  }
}

function withoutAttempt(item: LockedItem, outcome: Outcome, deliveredIccid: string | undefined): Transition {
  if (outcome.kind === 'delivered') return transitionOnDelivery(item, outcome.esim, deliveredIccid)
  if (item.itemStatus !== 'WAITING' || outcome.kind !== 'refused') return { to: 'SAME' }
  return { to: 'REFUSED', words: outcome.words }
}

function isInDoubt({ itemStatus, inDoubtAt }: LockedItem): boolean {
  return itemStatus === 'ASKED' || itemStatus === 'UNKNOWN' || (itemStatus === 'REVIEW' && inDoubtAt !== null)
}

/** When an order that nobody works on is to be looked at: null when none of its items moves by itself. */
function dueAgain(order: LockedOrder, now: Date): Date | null {
  let next: Date | null = null
  for (const item of order.items) {
    // One in doubt without a time is being asked about: should that worker die, somebody else is to ask.
    const isReviewed = item.itemStatus === 'REVIEW' && (item.retryAt !== null || item.inDoubtAt !== null)
    if (!isOpen(item.itemStatus) && !isReviewed) continue
    const due = item.retryAt ?? now
    if (next === null || due < next) next = due
  }
  return next
}
