import { AHEAD_TOLERANCE_MS } from '@dealer-esim/lib/leases.ts'
import type { PriceGuard } from '@dealer-esim/wholesalers/supplier.ts'
import type { CataloguePackage, Route } from '#catalogue/catalogue.ts'
import type { LockedItem } from '#orders/lock-orders.ts'
import { LONGEST_RETRY_MS, reviewWaitMs } from './outcomes/item-transition.ts'

/** The next step for one item, as determined by its own row and its package. */
export type Step =
  /** Buy on this route. */
  | { do: 'order'; route: Route; routeNo: number; guard: PriceGuard | undefined }
  /** Query a purchase that may have been made. */
  | { do: 'query'; supplier: string; productCode: string; inDoubtAt: Date }
  /** Refuse the item: no supplier may be called, so it will definitely not be delivered. */
  | { do: 'refuse'; message: string }
  /** Wait until this moment. */
  | { do: 'wait'; until: Date }
  /** The item is DELIVERED, REFUSED or CANCELLED, or in a REVIEW that only an operator can end. */
  | { do: 'nothing' }

/** Suppliers whose routes are skipped. */
export interface SkippedSuppliers {
  /** Suppliers that do not exist. */
  readonly missing: ReadonlySet<string>
  /** The supplier is paused or down, and is skipped while another of the package's suppliers is available. */
  isInterrupted(supplier: string): boolean
}

/**
 * Decides the next step of an item. Pure. The caller holds the lease of the item's order, so the worker that left the
 * item ASKED has stopped.
 */
export function nextStep(
  item: LockedItem,
  order: PricedOrder,
  bought: Bought | undefined,
  skipped: SkippedSuppliers,
  now: Date,
): Step {
  switch (item.itemStatus) {
    case 'WAITING':
      if (waits(item, now, LONGEST_RETRY_MS)) return { do: 'wait', until: item.retryAt }
      return firstRoute(item, order, bought, skipped)
    case 'ASKED':
      // The attempt was committed without an outcome: its worker may have sent it before it stopped.
      return ask(item, item.inDoubtAt ?? item.updatedAt, now)
    case 'UNKNOWN':
      if (waits(item, now, LONGEST_RETRY_MS)) return { do: 'wait', until: item.retryAt }
      return ask(item, item.inDoubtAt ?? item.updatedAt, now)
    case 'REVIEW':
      // An item in doubt is queried and any other is bought again, less and less often, until the supplier answers or an
      // operator resolves it. Until then it stays under review.
      if (waits(item, now, reviewWaitMs(item.requestedAt ?? now, now))) return { do: 'wait', until: item.retryAt }
      if (item.inDoubtAt !== null) return ask(item, item.inDoubtAt, now)
      return item.retryAt === null ? { do: 'nothing' } : nothingButOrder(firstRoute(item, order, bought, skipped))
    case 'DELIVERED':
    case 'REFUSED':
    case 'CANCELLED':
      return { do: 'nothing' }
    default:
      return item.itemStatus satisfies never
  }
}

/** The terms of an item's order. `periodNum` is the number of days of a day pass, whose costs and guards are for one day. */
export interface PricedOrder {
  currencyCode: string
  periodNum?: number | undefined
}

type Bought = Pick<CataloguePackage, 'routes' | 'allowLoss'>

/** Restricts a package to the eSIM's own supplier, the only one from which a top-up can be bought. */
export function onlyFrom(supplier: string, bought: Bought | undefined): Bought | undefined {
  return bought && { ...bought, routes: bought.routes.filter((route) => route.supplier === supplier).slice(0, 1) }
}

/** Drops a refusal: only an operator may refund an item under review. */
function nothingButOrder(step: Step): Step {
  return step.do === 'order' ? step : { do: 'nothing' }
}

/** True if the item must still wait. A retry time beyond the longest wait was set by a fast clock, and is ignored. */
function waits(item: LockedItem, now: Date, longestMs: number): item is LockedItem & { retryAt: Date } {
  if (item.retryAt === null) return false
  const waitMs = item.retryAt.getTime() - now.getTime()
  return waitMs > 0 && waitMs <= longestMs + AHEAD_TOLERANCE_MS
}

/** Queries the supplier. A doubt that begins in the future was written by a fast clock, so it counts from now on. */
function ask(item: LockedItem, doubtSince: Date, now: Date): Step {
  const inDoubtAt = doubtSince > now ? now : doubtSince
  return { do: 'query', supplier: item.supplier!, productCode: item.productCode!, inDoubtAt }
}

/**
 * The first usable route, starting at the item's current one; if all of their suppliers are interrupted, the first of these
 * routes. A route that the item was ordered on before keeps its terms.
 */
function firstRoute(
  item: LockedItem,
  order: PricedOrder,
  bought: Bought | undefined,
  { missing, isInterrupted }: SkippedSuppliers,
): Step {
  const { supplier, productCode, cost, costCurrency, routeNo } = item
  const price = item.price / BigInt(order.periodNum ?? 1)
  const guardOf = (route: Route) => (bought?.allowLoss ? undefined : priceGuard(route, price, order.currencyCode))
  if (supplier !== null && productCode !== null) {
    const route = { supplier, productCode, cost, costCurrency }
    return { do: 'order', route, routeNo, guard: guardOf(route) }
  }
  const routes = bought?.routes ?? []
  let interrupted: Step | undefined
  for (let index = routeNo; index < routes.length; index++) {
    const route = routes[index]!
    if (missing.has(route.supplier)) continue
    const guard = guardOf(route)
    if (guard !== undefined && guard.cost > guard.salePrice) continue
    const step: Step = { do: 'order', route, routeNo: index, guard }
    if (!isInterrupted(route.supplier)) return step
    interrupted ??= step
  }
  if (interrupted !== undefined) return interrupted
  if (routeNo > 0 && item.failureReason !== null) return { do: 'refuse', message: item.failureReason }
  const isUnavailable = routes.every((route) => missing.has(route.supplier))
  return { do: 'refuse', message: isUnavailable ? 'no supplier offers it' : 'no supplier offers it at this price' }
}

/** Returns no guard if the cost is unknown or in a different currency, because amounts are never converted. */
function priceGuard({ cost, costCurrency }: Route, price: bigint, currencyCode: string): PriceGuard | undefined {
  return cost === null || costCurrency !== currencyCode ? undefined : { cost, salePrice: price, currencyCode }
}
