import type { CataloguePackage, Route } from '../../catalogue/catalogue.ts'
import type { LockedItem } from '../../orders/lock.ts'
import type { PriceGuard } from '../../suppliers/supplier.ts'

/** What is to be done about one item, as far as its own row and its package tell. */
export type Step =
  /** Buy from this route. */
  | { do: 'order'; route: Route; routeNo: number; guard: PriceGuard | undefined }
  /** Ask what became of the purchase that may have happened. */
  | { do: 'query'; supplier: string; productCode: string; inDoubtAt: Date }
  /** Nobody may be asked: definitely not delivered. */
  | { do: 'refuse'; words: string }
  /** Nothing before this moment. */
  | { do: 'wait'; until: Date }
  /** DELIVERED, REFUSED, CANCELLED; and REVIEW that only operators end. */
  | { do: 'nothing' }

/**
 * Pure. `item` belongs to an order that we hold the lease of, so whoever had it ASKED is gone.
 * @param missing names of suppliers that do not exist: routes to them are passed over
 */
export function nextStep(
  item: LockedItem,
  order: { currencyCode: string },
  bought: CataloguePackage | undefined,
  missing: ReadonlySet<string>,
  now: Date,
): Step {
  switch (item.itemStatus) {
    case 'WAITING':
      if (item.retryAt !== null && item.retryAt > now) return { do: 'wait', until: item.retryAt }
      return firstRoute(item, order, bought, missing)
    case 'ASKED':
      // The attempt was committed and its outcome was not: it may have been sent until the moment its worker died.
      return ask(item, item.inDoubtAt ?? item.updatedAt)
    case 'UNKNOWN':
      if (item.retryAt !== null && item.retryAt > now) return { do: 'wait', until: item.retryAt }
      return ask(item, item.inDoubtAt ?? item.updatedAt)
    case 'REVIEW':
      // What is in doubt is asked about, what is not is bought where it was left: less and less often, until the supplier
      // can tell, or delivers, or an operator settles it. It stays under review meanwhile.
      if (item.retryAt !== null && item.retryAt > now) return { do: 'wait', until: item.retryAt }
      if (item.inDoubtAt !== null) return ask(item, item.inDoubtAt)
      return item.retryAt === null ? { do: 'nothing' } : nothingButOrder(firstRoute(item, order, bought, missing))
    case 'DELIVERED':
    case 'REFUSED':
    case 'CANCELLED':
      return { do: 'nothing' }
    default:
      return item.itemStatus satisfies never
  }
}

/** Nobody is refunded out of review but by an operator. */
function nothingButOrder(step: Step): Step {
  return step.do === 'order' ? step : { do: 'nothing' }
}

function ask(item: LockedItem, inDoubtAt: Date): Step {
  return { do: 'query', supplier: item.supplier!, productCode: item.productCode!, inDoubtAt }
}

/** From the item's present route on, the first one that may be asked; one that was asked already keeps its terms. */
function firstRoute(
  item: LockedItem,
  order: { currencyCode: string },
  bought: CataloguePackage | undefined,
  missing: ReadonlySet<string>,
): Step {
  const { supplier, productCode, cost, costCurrency, routeNo } = item
  const guardOf = (route: Route) => (bought?.allowLoss ? undefined : priceGuard(route, item.price, order.currencyCode))
  if (supplier !== null && productCode !== null) {
    const route = { supplier, productCode, cost, costCurrency }
    return { do: 'order', route, routeNo, guard: guardOf(route) }
  }
  const routes = bought?.routes ?? []
  for (let index = routeNo; index < routes.length; index++) {
    const route = routes[index]!
    if (missing.has(route.supplier)) continue
    const guard = guardOf(route)
    if (guard === undefined || guard.cost <= guard.most) return { do: 'order', route, routeNo: index, guard }
  }
  if (routeNo > 0 && item.failureReason !== null) return { do: 'refuse', words: item.failureReason }
  const isNowhere = routes.every((route) => missing.has(route.supplier))
  return { do: 'refuse', words: isNowhere ? 'no supplier has it' : 'no supplier has it at this price' }
}

/** Whether the package names a supplier after this one. */
export function hasNextRoute(item: LockedItem, bought: CataloguePackage | undefined): boolean {
  return item.routeNo + 1 < (bought?.routes.length ?? 0)
}

/** Costs in another currency cannot be compared: nothing is converted, so they are no reason to skip. */
function priceGuard({ cost, costCurrency }: Route, price: bigint, currencyCode: string): PriceGuard | undefined {
  return cost === null || costCurrency !== currencyCode ? undefined : { cost, most: price, currencyCode }
}
