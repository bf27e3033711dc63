import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { Outcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import type { CataloguePackage } from '#catalogue/catalogue.ts'
import { insertProfiles, type NewProfile } from '#esims/insert-profiles.ts'
import type { AddedPackage } from '#esims/life/esim-lifecycle.ts'
import { applyTopUp } from '#esims/life/lives.ts'
import { changeOrders, type OrderChange } from '#orders/change-order.ts'
import type { KeptOrder, LockedItem, LockedOrder, LockedOrders } from '#orders/lock-orders.ts'
import { allowanceOf, isOpen } from '#orders/order-item.ts'
import { refundItems } from '#orders/refund.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { type Transition, transition, transitionOnDelivery, transitionOnTopUp } from './item-transition.ts'
import { keepOrphan, keepOrphanTopUp, type Orphan, type OrphanTopUp } from './orphans.ts'
import type { FulfilmentDeps } from './outcome-deps.ts'
import {
  type Attempt,
  type ItemResult,
  NOT_CHARGED,
  setSupplierCharge,
  type WatchedItem,
  watchItem,
  writeItems,
} from './outcome-items.ts'
import { wakeNextTopUps } from './top-up-orders.ts'

export interface HeldLease {
  leaseToken: string
  isBusy(orderId: string): boolean
  /** Attempts of the order whose items have not been written yet. */
  unwritten(orderId: string): readonly Attempt[]
  /**
   * The orders as they were claimed. Can be taken only once, because trying to save changes them. undefined if an order has
   * been taken or written since.
   */
  takeKept(orderIds: readonly string[]): ReadonlyMap<string, KeptOrder> | undefined
}

/** The holder of the lease on the orders whose outcomes are saved. */
export type LeaseState =
  /** This worker: it releases each order in which it has no other call in progress. */
  | HeldLease
  /** Another worker or nobody: a late answer, a supplier's event, reconciliation or an operator. The lease stays. */
  | { leaseToken: undefined }

type OutcomeDeps = Pick<FulfilmentDeps, 'ids' | 'cipher' | 'orderMetrics'> & {
  suppliers: Pick<Suppliers, 'get'>
}

/** Collects the changes that one tenant's outcomes make, then writes them together. */
export class OutcomeBatch {
  readonly #deps: OutcomeDeps
  readonly #tenantId: string
  readonly #now: Date
  readonly #tenantNow: Date
  readonly #findPackage: (packageCode: string) => CataloguePackage | undefined
  readonly #items = new Map<LockedItem, string>()
  readonly #profiles: NewProfile[] = []
  readonly #topUps: { profileId: string; added: AddedPackage }[] = []
  readonly #orphanTopUps: OrphanTopUp[] = []
  readonly #refunds = new Map<string, { itemNo: number; amount: bigint; message: string }[]>()
  readonly #orphans: Orphan[] = []
  readonly #watched: WatchedItem[] = []
  readonly #releases = new Map<string, NonNullable<OrderChange['release']>>()

  constructor(
    deps: OutcomeDeps,
    tenantId: string,
    { now, databaseNow }: Pick<LockedOrders, 'now' | 'databaseNow'>,
    findPackage: (packageCode: string) => CataloguePackage | undefined,
  ) {
    this.#deps = deps
    this.#tenantId = tenantId
    this.#now = databaseNow
    this.#tenantNow = now
    this.#findPackage = findPackage
  }

  /** Decides which transition a result causes from the item's current state, and applies it. */
  apply(order: LockedOrder, result: ItemResult): Transition {
    const item = order.items.find((candidate) => candidate.itemNo === result.itemNo)
    if (item === undefined) throw new Error(`order ${order.orderId} has no item ${result.itemNo}`)
    const { attempt, supplier = null, decidedProduct } = result
    if (decidedProduct !== undefined && item.supplier === null) {
      Object.assign(item, { supplier, productCode: decidedProduct })
    }
    const outcome = fitting(order, result.outcome)
    const deliveredIccid = order.profiles.find((profile) => profile.itemNo === item.itemNo)?.iccid
    const made =
      attempt === undefined
        ? transitionWithoutAttempt(item, outcome, deliveredIccid, decidedProduct !== undefined)
        : transition(item, outcome, {
            now: this.#now,
            startedAt: attempt.startedAt,
            doubtSince: attempt.doubtSince,
            operation: attempt.operation,
            traits: attempt.supplied.supplier.traits,
            deliveredIccid,
            hasNextRoute: order.orderType === 'NEW' && hasNextRoute(item, this.#findPackage(item.packageCode)),
            jitter: this.#deps.ids.bytes(1)[0]! / 255,
          })
    if (made.to === 'DELIVERED' && attempt !== undefined) this.#reassignToSupplier(order, item, attempt)
    this.applyTransition(order, item, made, attempt?.supplied.supplier.name ?? supplier ?? item.supplier)
    if ((outcome.kind === 'unknown' || outcome.kind === 'ordered') && made.to !== 'SAME') {
      setSupplierCharge(item, outcome.charged)
    }
    return made
  }

  /**
   * Reassigns an item whose first supplier delivers late, after its refusal became final and the item moved on to the next
   * supplier. The item returns to the first supplier, at today's cost. The next supplier may have sold an eSIM too, so
   * it is watched, and that eSIM is cancelled.
   */
  #reassignToSupplier({ orderId }: LockedOrder, item: LockedItem, { supplied, productCode }: Attempt): void {
    const supplier = supplied.supplier.name
    if (supplier === item.supplier) return
    if (item.supplier !== null && isInDoubt(item)) {
      const other = { supplier: item.supplier, productCode: item.productCode }
      this.#watched.push({ orderId, itemNo: item.itemNo, purpose: 'DELIVERED_IN_DOUBT', ...other })
    }
    const routes = this.#findPackage(item.packageCode)?.routes ?? []
    const route = routes.find((one) => one.supplier === supplier && one.productCode === productCode)
    const [cost, costCurrency] = [route?.cost ?? null, route?.costCurrency ?? null]
    Object.assign(item, { supplier, productCode, cost, costCurrency, ...NOT_CHARGED })
  }

  applyTransition(order: LockedOrder, item: LockedItem, made: Transition, supplier: string | null): void {
    if (made.to === 'SAME') return
    if (made.to === 'ORPHAN') {
      this.#orphans.push({ orderId: order.orderId, itemNo: item.itemNo, supplier: supplier!, esim: made.esim })
      return
    }
    if (made.to === 'ORPHAN_TOP_UP') {
      const { orderId, toppedUpProfileId } = order
      this.#orphanTopUps.push({ orderId, itemNo: item.itemNo, supplier: supplier!, profileId: toppedUpProfileId! })
      return
    }
    this.#items.set(item, order.orderId)
    if ('message' in made) item.failureReason = made.message
    item.retryAt = 'retryAt' in made ? made.retryAt : null
    item.inDoubtAt = 'inDoubtAt' in made ? made.inDoubtAt : null
    switch (made.to) {
      case 'DELIVERED':
        item.itemStatus = 'DELIVERED'
        item.failureReason = null
        setSupplierCharge(item, made.esim.charged)
        this.#profiles.push({
          orderId: order.orderId,
          itemNo: item.itemNo,
          supplier: supplier!,
          esim: made.esim,
          bought: this.#findPackage(item.packageCode),
          periodNum: order.packageLines[item.lineNo]?.periodNum,
          isReported: isReported(this.#deps.suppliers.get(supplier!)?.supplier, item.productCode),
          pollEveryS: this.#deps.suppliers.get(supplier!)?.supplier.traits.pollEveryS,
        })
        return
      case 'TOPPED_UP': {
        item.itemStatus = 'DELIVERED'
        item.failureReason = null
        setSupplierCharge(item, made.added.charged)
        const bought = this.#findPackage(item.packageCode)
        const allowance = bought
          ? allowanceOf(bought, order.packageLines[item.lineNo]?.periodNum)
          : { volume: null, days: 0 }
        const { expiredTime } = made.added
        this.#topUps.push({ profileId: order.toppedUpProfileId!, added: { ...allowance, expiredTime } })
        return
      }
      case 'REFUSED': {
        item.itemStatus = 'REFUSED'
        Object.assign(item, NOT_CHARGED)
        const refunds = this.#refunds.get(order.orderId) ?? []
        this.#refunds.set(order.orderId, refunds)
        refunds.push({ itemNo: item.itemNo, amount: item.price, message: made.message })
        return
      }
      case 'NEXT_ROUTE':
      case 'ANY_ROUTE':
        item.itemStatus = 'WAITING'
        if (made.to === 'NEXT_ROUTE') item.routeNo += 1
        Object.assign(item, { supplier: null, productCode: null, cost: null, costCurrency: null, requestedAt: null })
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

  /**
   * Releases the orders that have no call in progress. Items that are still ASKED, because their outcome could not be saved,
   * are written first: once the lease is gone, only their rows can show it.
   * @returns when the first of the orders is due again.
   */
  release(orders: Map<string, LockedOrder>, lease: LeaseState): Date | undefined {
    let next: Date | undefined
    for (const order of orders.values()) {
      if (lease.leaseToken !== undefined) {
        if (lease.isBusy(order.orderId)) continue
        for (const item of order.items) if (item.itemStatus === 'ASKED') this.#items.set(item, order.orderId)
      }
      const dueAt = nextDueAt(order, this.#now)
      this.#releases.set(order.orderId, { dueAt, keepLease: lease.leaseToken === undefined })
      if (dueAt !== null && (next === undefined || dueAt < next)) next = dueAt
    }
    return next
  }

  /**
   * @param esimOrders the orders that delivered the topped-up eSIMs
   * @returns whether there are events to send, and whether another top-up is due now.
   */
  async write(
    tx: Tx,
    orders: Map<string, LockedOrder>,
    esimOrders: ReadonlyMap<string, LockedOrder> = new Map(),
  ): Promise<{ eventsToSend: boolean; isTopUpDue: boolean }> {
    const [deps, tenantId, now, tenantNow] = [this.#deps, this.#tenantId, this.#now, this.#tenantNow]
    const items = [...this.#items].map(([item, orderId]) => ({ orderId, item }))
    writeItems(tx, tenantId, items, now)
    await failpoint('fulfilment.items-written')
    const inserted = insertProfiles(tx, deps, tenantId, this.#profiles, tenantNow.getTime() - now.getTime())
    for (const [index, profile] of inserted.entries()) {
      orders.get(this.#profiles[index]!.orderId)!.profiles.push(profile)
    }
    await failpoint('fulfilment.profiles-written')
    for (const watched of this.#watched) watchItem(tx, tenantId, watched, now)
    for (const orphan of this.#orphans) await keepOrphan(tx, deps, tenantId, orphan, now)
    for (const orphan of this.#orphanTopUps) keepOrphanTopUp(tx, deps, tenantId, orphan, now)
    for (const [orderId, refunds] of this.#refunds) {
      const reason = [...new Set(refunds.map((refund) => refund.message))].join('; ')
      await refundItems(tx, tenantId, orders.get(orderId)!, refunds, reason)
    }
    const eventsOfTopUps = await this.#applyTopUps(tx, esimOrders)
    const delivered = new Set(this.#profiles.map((profile) => profile.orderId))
    const changes = [...orders.values()].map((order): OrderChange => {
      const release = this.#releases.get(order.orderId)
      return { order, profilesChanged: delivered.has(order.orderId), ...(release ? { release } : {}) }
    })
    const eventsToSend = changeOrders(tx, deps, tenantId, changes, tenantNow) || eventsOfTopUps
    return { eventsToSend, isTopUpDue: await wakeNextTopUps(tx, tenantId, this.#decidedTopUps(orders)) }
  }

  /** @returns whether there are events to send. */
  async #applyTopUps(tx: Tx, esimOrders: ReadonlyMap<string, LockedOrder>): Promise<boolean> {
    let eventsToSend = false
    for (const { profileId, added } of this.#topUps) {
      const order = [...esimOrders.values()].find(({ profiles }) => profiles.some((p) => p.profileId === profileId))
      if (order === undefined) throw new Error(`the order of eSIM ${profileId} is not locked: it cannot be topped up`)
      const isApplied = await applyTopUp(tx, this.#deps, this.#tenantId, { order, profileId, added }, this.#tenantNow)
      if (isApplied) eventsToSend = true
    }
    return eventsToSend
  }

  /** The eSIMs of top-ups that no longer hold up a later top-up. */
  #decidedTopUps(orders: ReadonlyMap<string, LockedOrder>): string[] {
    return [...this.#items].flatMap(([item, orderId]) => {
      const profileId = orders.get(orderId)?.toppedUpProfileId ?? null
      return profileId === null || isOpen(item.itemStatus) ? [] : [profileId]
    })
  }
}

/** Treats the outcome as unknown if the supplier delivered something that was not ordered. */
function fitting(order: LockedOrder, outcome: Outcome): Outcome {
  const isTopUp = order.orderType === 'TOPUP'
  if (outcome.kind === 'delivered' && isTopUp) {
    return { kind: 'unknown', message: 'the supplier delivered an eSIM instead of a top-up' }
  }
  if (outcome.kind === 'toppedUp' && !isTopUp) {
    return { kind: 'unknown', message: 'the supplier topped up an eSIM instead of delivering one' }
  }
  return outcome
}

function transitionWithoutAttempt(
  item: LockedItem,
  outcome: Outcome,
  deliveredIccid: string | undefined,
  isDecided: boolean,
): Transition {
  if (outcome.kind === 'delivered') return transitionOnDelivery(item, outcome.esim, deliveredIccid)
  if (outcome.kind === 'toppedUp') return transitionOnTopUp(item, outcome)
  const isUndecided = isOpen(item.itemStatus) || item.itemStatus === 'REVIEW'
  const counts = item.itemStatus === 'WAITING' || (isDecided && isUndecided)
  if (!counts || outcome.kind !== 'refused') return { to: 'SAME' }
  return { to: 'REFUSED', message: outcome.message }
}

/** True if the package lists another supplier after the item's current one. */
export function hasNextRoute(item: LockedItem, bought: CataloguePackage | undefined): boolean {
  return item.routeNo + 1 < (bought?.routes.length ?? 0)
}

function isInDoubt({ itemStatus, inDoubtAt }: LockedItem): boolean {
  return itemStatus === 'ASKED' || itemStatus === 'UNKNOWN' || (itemStatus === 'REVIEW' && inDoubtAt !== null)
}

/** When fulfilment must look at the order again; null if only an operator can change its items. */
function nextDueAt(order: LockedOrder, now: Date): Date | null {
  let next: Date | null = null
  for (const item of order.items) {
    // An item in doubt without a retry time has a query in progress. If its worker dies, another one must query.
    const isReviewed = item.itemStatus === 'REVIEW' && (item.retryAt !== null || item.inDoubtAt !== null)
    if (!isOpen(item.itemStatus) && !isReviewed) continue
    const due = item.retryAt ?? now
    if (next === null || due < next) next = due
  }
  return next
}

/** True if the supplier is polled for status and usage of the product's eSIMs. */
function isReported(supplier: Supplier | undefined, productCode: string | null): boolean {
  if (supplier?.report === undefined || supplier.traits.reportsOnRequest) return false
  return productCode === null || supplier.traits.reportsProduct?.(productCode) !== false
}
