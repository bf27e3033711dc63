import type { CataloguePackage, ListPrice } from '../snapshot/package.ts'
import { changeByPercent, priceFromCost, type Rounding, roundToNearest } from './price-engine.ts'

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
export function quote(tariff: Tariff, item: Priced): Quote {
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
      changedAt = Math.max(changedAt, rule.updatedAt, rule.basis === 'COST' ? item.touchedAt : 0)
      const given = rule.removed ? undefined : priceByRule(rule, list, item)
      if (given) return { ...given, retailPrice, source: given.price === undefined ? null : by, changedAt }
    }
  }
  if (!list || list.removed) return { price: undefined, retailPrice, source: null, changedAt }
  return { price: list.price, retailPrice, source: 'LIST', changedAt }
}

/** The members of a package that decide its price. */
type Priced = Pick<CataloguePackage, 'packageCode' | 'prices' | 'routes' | 'touchedAt'>

/**
 * undefined: the rule does not apply. A price above MONEY_MAX means no price; the next rule is not used. Without a list price a
 * package is not for sale by a percentage, also not by one on its cost.
 */
function priceByRule(rule: PlanRule, list: ListPrice | undefined, item: Priced): Pick<Quote, 'price'> | undefined {
  const { percent, rounding } = rule
  if (rule.price !== null) return { price: rule.price }
  if (percent === null || !list || list.removed) return undefined
  if (rule.basis === 'LIST') {
    const changed = changeByPercent(list.price, percent)
    return { price: changed === undefined ? undefined : roundToNearest(changed, rounding) }
  }
  const [first] = item.routes
  if (!first || first.cost === null || first.costCurrency !== list.currencyCode) return undefined
  return { price: priceFromCost(first.cost, { percent, fixed: 0n, minMargin: 0n, rounding }) }
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

/** A rule of a price plan: a percentage, or a fixed price in one currency. */
export interface PlanRule {
  /** In 1/10 000 of a percent: −100 000n means ten percent less. */
  readonly percent: bigint | null
  /** The percentage changes the list price, or is added to the cost of the supplier that is tried first. */
  readonly basis: PercentBasis
  /** The prices that the percentage may make: the nearest one to a list price, the next one above a cost. */
  readonly rounding: Rounding
  readonly price: bigint | null
  readonly removed: boolean
  /** 0: unknown. */
  readonly firstAt: number
  readonly updatedAt: number
}

export type PercentBasis = 'LIST' | 'COST'

/** One row of price_plan_rules. */
export interface PlanRuleRow extends PlanRule {
  readonly planName: string
  /** '': every package. */
  readonly packageCode: string
  /** '': every currency. */
  readonly currencyCode: string
}

/** The rules of one plan, by package and currency. */
export class Plan {
  private readonly rules: ReadonlyMap<string, PlanRule>
  /** When a rule for every package last changed (ms). */
  readonly wideChangedAt: number

  constructor(rules: ReadonlyMap<string, PlanRule> = new Map()) {
    this.rules = rules
    const wide = [...rules].filter(([key]) => key.startsWith(' ')).map(([, rule]) => rule.updatedAt)
    this.wideChangedAt = Math.max(0, ...wide)
  }

  with(rows: readonly PlanRuleRow[]): Plan {
    const rules = new Map(this.rules)
    for (const row of rows) rules.set(`${row.packageCode} ${row.currencyCode}`, row)
    return new Plan(rules)
  }

  /** The narrowest first: package and currency, package, currency, neither. */
  *rulesFor(packageCode: string, currencyCode: string): Iterable<PlanRule> {
    for (const scope of [packageCode, '']) {
      for (const currency of [currencyCode, '']) {
        const rule = this.rules.get(`${scope} ${currency}`)
        if (rule) yield rule
      }
    }
  }

  /** Packages that have, or had, a fixed price in the currency. */
  *fixedPrices(currencyCode: string): Iterable<string> {
    for (const key of this.rules.keys()) {
      const cut = key.indexOf(' ')
      if (cut > 0 && key.slice(cut + 1) === currencyCode) yield key.slice(0, cut)
    }
  }

  hasRule(packageCode: string, currencyCode: string): boolean {
    return this.rules.has(`${packageCode} ${currencyCode}`)
  }

  /** The package and the last change of every rule for a single package. */
  *packageChanges(): Iterable<[packageCode: string, updatedAt: number]> {
    for (const [key, rule] of this.rules) {
      if (!key.startsWith(' ')) yield [key.slice(0, key.indexOf(' ')), rule.updatedAt]
    }
  }
}

/** A plan and the period in which it applies to a tenant (ms), from first to last, ignoring interruptions. */
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
  /** Past plans: they decide what the tenant could buy once. */
  readonly formerPlans: readonly PlanPeriod[]
  /** When a plan or group was last assigned or removed (ms). */
  readonly changedAt: number
  /** When something last changed that may affect every package (ms). */
  readonly wideChangedAt: number
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
    wideChangedAt: Math.max(changedAt, ...plans.map(({ plan }) => plan.wideChangedAt)),
  }
}
