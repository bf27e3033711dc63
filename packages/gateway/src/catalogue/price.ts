import { MONEY_MAX } from '@dealer-esim/contract'
import type { CataloguePackage, ListPrice } from './package.ts'
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

/**
 * When a package that now has no price for the tenant lost the last one it had; undefined if it never had any. The
 * change feed tells of a package that left, and never of one that the tenant could not see.
 */
export function lostPriceAt(
  tariff: Tariff,
  item: Pick<CataloguePackage, 'packageCode' | 'prices'>,
  quoted: Quote,
): number | undefined {
  let lostAt: number | undefined
  const lost = (moment: number) => {
    lostAt = Math.max(lostAt ?? 0, moment)
  }
  const own = tariff.ownPrices.get(item.packageCode)
  if (own?.removed) lost(own.updatedAt)
  const list = item.prices.find((price) => price.currencyCode === tariff.currencyCode)
  if (list?.removed) lost(list.updatedAt)
  // The list price stands, and a percentage leads beyond what can be told: since something on the way last changed.
  if (list && !list.removed && quoted.price === undefined) lost(quoted.changedAt)
  for (const { plan, from, until } of [...tariff.plans, ...tariff.formerPlans]) {
    for (const rule of plan.rulesFor(item.packageCode, tariff.currencyCode)) {
      // A percentage gives no price of its own. A fixed one counts if the plan was the tenant's while it held.
      if (rule.price === null) continue
      if (rule.removed && rule.updatedAt > from) lost(Math.min(rule.updatedAt, until))
      if (!rule.removed && until < Number.POSITIVE_INFINITY && rule.updatedAt < until) lost(until)
    }
  }
  return lostAt
}
