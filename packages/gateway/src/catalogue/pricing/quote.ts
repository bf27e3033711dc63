import { MONEY_MAX } from '@dealer-esim/contract'
import type { CataloguePackage, ListPrice } from '../snapshot/package.ts'
import type { PlanRule, Tariff } from './tariff.ts'

/** What a tenant pays for one package, and since when. */
export interface Quote {
  /** For one eSIM, in 1/10 000 of the tenant's currency; undefined: the package has no price for this tenant. */
  readonly price: bigint | undefined
  readonly retailPrice: bigint | null
  /** Who decided: the tenant's own price, its plan, its group's plan, the list; null where there is no price. */
  readonly source: 'OWN' | 'PLAN' | 'GROUP' | 'LIST' | null
  /** When the price last changed, at the earliest (ms). A change that left the amount the same may count. */
  readonly changedAt: number
}

/**
 * The price of one eSIM: the tenant's own price beats its plan, its plan beats its group's, that beats the list price
 * (contract §4). Within a plan, a rule for the package beats one for all, and a fixed price beats a percentage. What
 * gives no price in the tenant's currency is passed over.
 */
export function quote(tariff: Tariff, item: Pick<CataloguePackage, 'packageCode' | 'prices'>): Quote {
  const list = item.prices.find((price) => price.currencyCode === tariff.currencyCode)
  const retailPrice = list && !list.removed ? list.retailPrice : null
  const own = tariff.ownPrices.get(item.packageCode)
  if (own && !own.removed) {
    // The list price is still looked at: retailPrice is taken from it.
    return { price: own.price, retailPrice, source: 'OWN', changedAt: Math.max(own.updatedAt, list?.updatedAt ?? 0) }
  }
  let changedAt = Math.max(tariff.changedAt, own?.updatedAt ?? 0, list?.updatedAt ?? 0)
  for (const { plan, by } of tariff.plans) {
    for (const rule of plan.rulesFor(item.packageCode, tariff.currencyCode)) {
      changedAt = Math.max(changedAt, rule.updatedAt)
      const given = rule.removed ? undefined : priceByRule(rule, list)
      if (given) return { ...given, retailPrice, source: given.price === undefined ? null : by, changedAt }
    }
  }
  if (!list || list.removed) return { price: undefined, retailPrice, source: null, changedAt }
  return { price: list.price, retailPrice, source: 'LIST', changedAt }
}

/** undefined: the rule says nothing here. A price beyond what can be told is no price, and not the next rule's affair. */
function priceByRule(rule: PlanRule, list: ListPrice | undefined): Pick<Quote, 'price'> | undefined {
  if (rule.price !== null) return { price: rule.price }
  if (rule.percent === null || !list || list.removed) return undefined
  return { price: changeByPercent(list.price, rule.percent) }
}

const WHOLE = 1_000_000n // 100 %, in 1/10 000 of a percent

/**
 * A price moved by a percentage (in 1/10 000 of a percent; −100 000n is ten percent less): rounded half up, never
 * below zero, undefined beyond what a JSON integer holds.
 */
export function changeByPercent(price: bigint, percent: bigint): bigint | undefined {
  const factor = WHOLE + percent
  if (factor <= 0n) return 0n
  const changed = (2n * price * factor + WHOLE) / (2n * WHOLE)
  return changed > BigInt(MONEY_MAX) ? undefined : changed
}

/** A time (ms), `until` not included. What held in it may have paused in between. */
export interface Period {
  readonly from: number
  readonly until: number
}

/**
 * Until when the tenant had a price for a package in the time that it was on sale; infinite where it still has one, undefined
 * where it never had. The change feed tells of a package that left, and never of one that the tenant could not see.
 */
export function pricedUntil(
  tariff: Tariff,
  item: Pick<CataloguePackage, 'packageCode' | 'prices'>,
  quoted: Quote,
  onSale: Period,
): number | undefined {
  // What still stands without giving a price is behind a percentage that leads beyond what can be told.
  const end = quoted.price === undefined ? quoted.changedAt : Number.POSITIVE_INFINITY
  let last: number | undefined
  for (const period of periodsOf(tariff, item)) {
    const until = Math.min(period.until, end)
    if (Math.max(period.from, onSale.from) < Math.min(until, onSale.until)) last = Math.max(last ?? 0, until)
  }
  return last
}

/** Whatever gave, or gives, the tenant a price of the package, and when. A percentage gives none of its own. */
function* periodsOf(tariff: Tariff, item: Pick<CataloguePackage, 'packageCode' | 'prices'>): Iterable<Period> {
  const own = tariff.ownPrices.get(item.packageCode)
  if (own) yield periodOf(own)
  const list = item.prices.find((price) => price.currencyCode === tariff.currencyCode)
  if (list) yield periodOf(list)
  for (const { plan, from, until } of [...tariff.plans, ...tariff.formerPlans]) {
    for (const rule of plan.rulesFor(item.packageCode, tariff.currencyCode)) {
      if (rule.price === null) continue
      const period = periodOf(rule)
      yield { from: Math.max(from, period.from), until: Math.min(until, period.until) }
    }
  }
}

function periodOf({ firstAt, updatedAt, removed }: Pick<ListPrice, 'firstAt' | 'updatedAt' | 'removed'>): Period {
  return { from: firstAt, until: removed ? updatedAt : Number.POSITIVE_INFINITY }
}
