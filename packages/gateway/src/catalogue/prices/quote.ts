import type { CataloguePackage, ListPrice } from '../snapshot/snapshot-package.ts'
import { isValidAt, Plan, type PlanRule, type RuleSubject, ruleChangedAt } from './plan-rules.ts'
import { changeByPercent, priceFromCost, roundingIn, roundToNearest } from './price-engine.ts'

/** A tenant's price of one package. */
export interface Quote {
  /** For one eSIM, in 1/10 000 of the tenant's currency; undefined if the package has no price for this tenant. */
  readonly price: bigint | undefined
  readonly retailPrice: bigint | null
  /** The origin of the price: the tenant's own price, its plan, its group's plan, the list; null without a price. */
  readonly source: 'OWN' | 'PLAN' | 'GROUP' | 'LIST' | null
  /** The rule that decided, with its plan; null if none did. */
  readonly decidedBy: { readonly planName: string; readonly rule: PlanRule } | null
  /** The latest change that could affect the price (ms), even if the amount stayed the same. */
  readonly changedAt: number
}

/**
 * Decides the price of one eSIM at a given database time (ms). Precedence: own price, plan, group plan, list price
 * (contract §4); within a plan, the order of `Plan.rulesFor`. Rules that are not valid at that time, or have no price in
 * the tenant's currency, are skipped.
 */
export function quote(tariff: Tariff, item: Priced, now: number): Quote {
  const list = listPriceIn(item, tariff.currencyCode)
  const retailPrice = list && !list.removed ? list.retailPrice : null
  const own = tariff.ownPrices.get(item.packageCode)
  if (own && !own.removed) {
    // A change to the list price also counts here, because retailPrice depends on it.
    const changedAt = Math.max(own.updatedAt, list?.updatedAt ?? 0)
    return { price: own.price, retailPrice, source: 'OWN', decidedBy: null, changedAt }
  }
  let changedAt = Math.max(tariff.changedAt, own?.updatedAt ?? 0, list?.updatedAt ?? 0)
  for (const { plan, planName, by } of tariff.plans) {
    // Which of these rules apply depends on the package's suppliers.
    if (plan.hasSupplierRules) changedAt = Math.max(changedAt, item.touchedAt)
    for (const rule of plan.rulesFor(subjectOf(item), tariff.currencyCode)) {
      changedAt = Math.max(changedAt, ruleChangedAt(rule, now), rule.basis === 'COST' ? item.touchedAt : 0)
      if (rule.removed || !isValidAt(rule, now)) continue
      const result = priceByRule(rule, list, item)
      if (typeof result === 'string' && result !== 'TOO_HIGH') continue
      const decidedBy = { planName, rule }
      if (result === 'TOO_HIGH') return { price: undefined, retailPrice, source: null, decidedBy, changedAt }
      return { price: result, retailPrice, source: by, decidedBy, changedAt }
    }
  }
  if (!list || list.removed) return { price: undefined, retailPrice, source: null, decidedBy: null, changedAt }
  return { price: list.price, retailPrice, source: 'LIST', decidedBy: null, changedAt }
}

/** The members of a package that decide its price. */
export type Priced = Pick<CataloguePackage, 'packageCode' | 'prices' | 'routes' | 'touchedAt' | 'coverage'>

export function subjectOf({ packageCode, coverage, routes }: Omit<Priced, 'prices' | 'touchedAt'>): RuleSubject {
  return { packageCode, location: coverage.priceLocation, supplier: routes[0]?.supplier }
}

export function listPriceIn({ prices }: Pick<Priced, 'prices'>, currencyCode: string): ListPrice | undefined {
  return prices.find((price) => price.currencyCode === currencyCode)
}

/** Why a rule gives no price: no list price in the currency, no cost in it, or a price above MONEY_MAX. */
export type NoPrice = 'NO_LIST_PRICE' | 'NO_COST' | 'TOO_HIGH'

/**
 * Returns the price that a rule yields, or the reason why it yields none. TOO_HIGH means that the package has no price; for
 * the other reasons the next rule is used. A percentage does not put a package without a list price on sale, not even a
 * percentage of its cost.
 */
export function priceByRule(
  rule: PlanRule,
  list: ListPrice | undefined,
  { routes: [first] }: Pick<Priced, 'routes'>,
): bigint | NoPrice {
  const { percent } = rule
  if (rule.price !== null) return rule.price
  if (percent === null || !list || list.removed) return 'NO_LIST_PRICE'
  const rounding = roundingIn(rule.rounding, list.currencyCode)
  if (rule.basis === 'LIST') {
    // Rounded once: a second rounding would turn 454.49995 into 455.
    const changed = changeByPercent(list.price, percent, rounding.ending === 0n ? rounding.unit : 1n)
    return changed === undefined ? 'TOO_HIGH' : (roundToNearest(changed, rounding) ?? 'TOO_HIGH')
  }
  if (!first || first.cost === null || first.costCurrency !== list.currencyCode) return 'NO_COST'
  return priceFromCost(first.cost, { percent, fixed: 0n, minMargin: 0n, rounding }) ?? 'TOO_HIGH'
}

/** A period in ms, excluding `until`. It may have had interruptions. */
export interface Period {
  readonly from: number
  readonly until: number
}

/**
 * When the tenant last had a price for the package while it was on sale: infinite if it still has one, undefined if it
 * never had. The change feed reports packages that a tenant has lost, never packages that it could not see.
 */
export function pricedUntil(
  tariff: Tariff,
  item: Omit<Priced, 'touchedAt'>,
  quoted: Pick<Quote, 'price' | 'changedAt'>,
  onSale: Period,
): number | undefined {
  // If there is no price now, a percentage that exceeds MONEY_MAX overrides every price that still exists.
  const end = quoted.price === undefined ? quoted.changedAt : Number.POSITIVE_INFINITY
  let last: number | undefined
  for (const period of periodsOf(tariff, item)) {
    const until = Math.min(period.until, end)
    if (Math.max(period.from, onSale.from) < Math.min(until, onSale.until)) last = Math.max(last ?? 0, until)
  }
  return last
}

/** The periods in which something gave or gives the tenant a price. A percentage alone gives no price. */
function* periodsOf(tariff: Tariff, item: Omit<Priced, 'touchedAt'>): Iterable<Period> {
  const own = tariff.ownPrices.get(item.packageCode)
  if (own) yield periodOf(own)
  const list = listPriceIn(item, tariff.currencyCode)
  if (list) yield periodOf(list)
  for (const { plan, from, until } of [...tariff.plans, ...tariff.formerPlans]) {
    for (const rule of plan.rulesFor(subjectOf(item), tariff.currencyCode)) {
      if (rule.price === null) continue
      const period = periodOf(rule)
      yield {
        from: Math.max(from, period.from, rule.validFrom),
        until: Math.min(until, period.until, rule.validUntil),
      }
    }
  }
}

function periodOf({ firstAt, updatedAt, removed }: Pick<ListPrice, 'firstAt' | 'updatedAt' | 'removed'>): Period {
  return { from: firstAt, until: removed ? updatedAt : Number.POSITIVE_INFINITY }
}

/** A plan and the period in which it applies to a tenant (ms), from first to last, regardless of interruptions. */
export interface PlanPeriod {
  readonly plan: Plan
  readonly planName: string
  /** PLAN: assigned to the tenant; GROUP: to its group. */
  readonly by: 'PLAN' | 'GROUP'
  readonly from: number
  readonly until: number
}

export interface OwnPrice {
  readonly price: bigint
  readonly removed: boolean
  /** 0: unknown. */
  readonly firstAt: number
  readonly updatedAt: number
}

/** All plans and own prices of one tenant. */
export interface Tariff {
  readonly currencyCode: string
  readonly ownPrices: ReadonlyMap<string, OwnPrice>
  /** Current plans: the tenant's, then its group's. */
  readonly plans: readonly PlanPeriod[]
  /** Past plans, which decide what the tenant could buy in the past. */
  readonly formerPlans: readonly PlanPeriod[]
  /** When a plan or group was last assigned or removed (ms). */
  readonly changedAt: number
}

/** When something that may affect every package last changed, up to a time (ms). */
export function wideChangedAt({ changedAt, plans }: Tariff, now: number): number {
  return Math.max(changedAt, ...plans.map(({ plan }) => plan.wideChangedAt(now)))
}

/** The assignment of a plan to a tenant or group, or of a group to a tenant. If removed, `updatedAt` is its end. */
export interface Assignment {
  readonly owner: string
  readonly target: string
  readonly removed: boolean
  /** 0: unknown. It may have had interruptions since. */
  readonly firstAt: number
  readonly updatedAt: number
}

export interface TariffSources {
  readonly plans: ReadonlyMap<string, Plan>
  readonly tenantPlans: ReadonlyMap<string, readonly Assignment[]>
  readonly tenantGroups: ReadonlyMap<string, readonly Assignment[]>
  readonly groupPlans: ReadonlyMap<string, readonly Assignment[]>
  readonly ownPrices: ReadonlyMap<string, ReadonlyMap<string, OwnPrice>>
}

const NO_PLAN = new Plan()
const NO_ASSIGNMENTS: readonly Assignment[] = []
const NO_PRICES: ReadonlyMap<string, OwnPrice> = new Map()

export function tariffOf(sources: TariffSources, tenant: { tenantId: string; currencyCode: string }): Tariff {
  const plans: PlanPeriod[] = []
  const formerPlans: PlanPeriod[] = []
  let changedAt = 0
  const addPlan = (by: PlanPeriod['by'], planName: string, links: readonly Assignment[]) => {
    const plan = sources.plans.get(planName) ?? NO_PLAN
    const ends = links.filter((link) => link.removed).map((link) => link.updatedAt)
    const starts = links.filter((link) => !link.removed).map((link) => link.updatedAt)
    const from = Math.max(...links.map((link) => link.firstAt))
    if (ends.length === 0) plans.push({ plan, planName, by, from, until: Number.POSITIVE_INFINITY })
    else formerPlans.push({ plan, planName, by, from, until: Math.min(...ends) })
    changedAt = Math.max(changedAt, ...starts, ...ends)
  }
  for (const own of sources.tenantPlans.get(tenant.tenantId) ?? NO_ASSIGNMENTS) addPlan('PLAN', own.target, [own])
  for (const membership of sources.tenantGroups.get(tenant.tenantId) ?? NO_ASSIGNMENTS) {
    changedAt = Math.max(changedAt, membership.updatedAt)
    for (const given of sources.groupPlans.get(membership.target) ?? NO_ASSIGNMENTS)
      addPlan('GROUP', given.target, [membership, given])
  }
  return {
    currencyCode: tenant.currencyCode,
    ownPrices: sources.ownPrices.get(tenant.tenantId) ?? NO_PRICES,
    plans,
    formerPlans,
    changedAt,
  }
}
