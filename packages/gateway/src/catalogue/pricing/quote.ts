import { MONEY_MAX } from '@dealer-esim/contract'
import type { CataloguePackage, ListPrice } from '../snapshot/package.ts'
import type { PlanRule, Tariff } from './tariff.ts'

/** A tenant's price of one package. */
export interface Quote {
  /** For one eSIM, in 1/10 000 of the tenant's currency; undefined: the package has no price for this tenant. */
  readonly price: bigint | undefined
  readonly retailPrice: bigint | null
  /** The origin of the price: the tenant's own price, its plan, its group's plan, the list; null without a price. */
  readonly source: 'OWN' | 'PLAN' | 'GROUP' | 'LIST' | null
  /** The latest change that could affect the price (ms); it may have kept the amount. */
  readonly changedAt: number
}

/**
 * Decides the price of one eSIM. Precedence: own price, plan, group plan, list price (contract §4). Within a plan, a rule
 * for the package precedes one for all packages, and a fixed price precedes a percentage. Rules without a price in the
 * tenant's currency are skipped.
 */
export function quote(tariff: Tariff, item: Pick<CataloguePackage, 'packageCode' | 'prices'>): Quote {
  const list = item.prices.find((price) => price.currencyCode === tariff.currencyCode)
  const retailPrice = list && !list.removed ? list.retailPrice : null
  const own = tariff.ownPrices.get(item.packageCode)
  if (own && !own.removed) {
    // The list price still matters: retailPrice comes from it.
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

/** undefined: the rule does not apply. A price above MONEY_MAX means no price; the next rule is not used. */
function priceByRule(rule: PlanRule, list: ListPrice | undefined): Pick<Quote, 'price'> | undefined {
  if (rule.price !== null) return { price: rule.price }
  if (rule.percent === null || !list || list.removed) return undefined
  return { price: changeByPercent(list.price, rule.percent) }
}

const WHOLE = 1_000_000n // 100 %, in 1/10 000 of a percent

/**
 * Changes a price by a percentage (in 1/10 000 of a percent; −100 000n means ten percent less): rounded half up, never
 * below zero. @returns undefined above MONEY_MAX
 */
export function changeByPercent(price: bigint, percent: bigint): bigint | undefined {
  const factor = WHOLE + percent
  if (factor <= 0n) return 0n
  const changed = (2n * price * factor + WHOLE) / (2n * WHOLE)
  return changed > BigInt(MONEY_MAX) ? undefined : changed
}

/** A period in ms, without `until`. It may have had interruptions. */
export interface Period {
  readonly from: number
  readonly until: number
}

/**
 * The end of the time in which the tenant had a price for the package while it was on sale: infinite if it still has one,
 * undefined if it never had. The change feed reports packages that a tenant lost, never those it could not see.
 */
export function pricedUntil(
  tariff: Tariff,
  item: Pick<CataloguePackage, 'packageCode' | 'prices'>,
  quoted: Quote,
  onSale: Period,
): number | undefined {
  // Without a price now, every price that still exists is overridden by a percentage that exceeds MONEY_MAX.
  const end = quoted.price === undefined ? quoted.changedAt : Number.POSITIVE_INFINITY
  let last: number | undefined
  for (const period of periodsOf(tariff, item)) {
    const until = Math.min(period.until, end)
    if (Math.max(period.from, onSale.from) < Math.min(until, onSale.until)) last = Math.max(last ?? 0, until)
  }
  return last
}

/** The periods of everything that gives or gave the tenant a price. Percentages give no price of their own. */
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
