import type { Rounding } from './price-engine.ts'

/** The packages that a rule covers: one package, those of a location, those with this supplier first, or all. */
export type RuleScope = 'PACKAGE' | 'LOCATION' | 'SUPPLIER' | 'ALL'

export type PercentBasis = 'LIST' | 'COST'

/** A rule of a price plan: a percentage, or a fixed price in one currency, for a period. */
export interface PlanRule {
  readonly scope: RuleScope
  /** Package code, location code or supplier; '' for all. */
  readonly target: string
  /** '': every currency. */
  readonly currencyCode: string
  /** In 1/10 000 of a percent: −100 000n means ten percent less. */
  readonly percent: bigint | null
  /** The percentage changes the list price, or is added to the cost of the supplier that is tried first. */
  readonly basis: PercentBasis
  /**
   * The prices that the percentage may result in. A percentage of the list price is rounded to the nearest of them; a
   * marked-up cost is rounded up to the next of them.
   */
  readonly rounding: Rounding
  readonly price: bigint | null
  /** In ms by the database's clock; −Infinity: always. */
  readonly validFrom: number
  /** Exclusive; Infinity: forever. It is later than the change that set it. */
  readonly validUntil: number
  readonly removed: boolean
  /** 0: unknown. */
  readonly firstAt: number
  readonly updatedAt: number
}

/** One row of price_plan_rules. */
export interface PlanRuleRow extends PlanRule {
  readonly planName: string
}

/** The properties of a package that decide which rules apply to it. */
export interface RuleSubject {
  readonly packageCode: string
  /** Its only country, otherwise !RG or !GL. */
  readonly location: string
  /** The supplier that is tried first. */
  readonly supplier: string | undefined
}

export function isValidAt({ validFrom, validUntil }: PlanRule, now: number): boolean {
  return validFrom <= now && now < validUntil
}

/** The last time, up to `now`, at which a rule was set or removed, began or ended (ms). */
export function ruleChangedAt({ updatedAt, validFrom, validUntil }: PlanRule, now: number): number {
  const began = validFrom <= now ? validFrom : updatedAt
  const ended = validUntil <= now ? validUntil : updatedAt
  return Math.max(updatedAt, began, ended)
}

const NO_RULES: readonly PlanRule[] = []

/**
 * The rules of one plan. Precedence: a rule for the package, for its location, for its first supplier, for every package;
 * among those, the rule whose validity began last; among those, a fixed price before a percentage.
 */
export class Plan {
  /** By scope and target, in the order of precedence. */
  readonly #rules: ReadonlyMap<string, readonly PlanRule[]>
  readonly #wideUpdatedAt: number
  /** When the validity of a rule begins or ends (ms), ascending. */
  readonly #switches: readonly number[]
  readonly hasSupplierRules: boolean

  constructor(rules: ReadonlyMap<string, readonly PlanRule[]> = new Map()) {
    this.#rules = rules
    const all = [...rules.values()].flat()
    const wide = all.filter(({ scope }) => scope !== 'PACKAGE')
    this.#wideUpdatedAt = Math.max(0, ...wide.map(({ updatedAt }) => updatedAt))
    this.hasSupplierRules = wide.some(({ scope }) => scope === 'SUPPLIER')
    const times = all.flatMap(({ validFrom, validUntil }) => [validFrom, validUntil]).filter(Number.isFinite)
    this.#switches = [...new Set(times)].sort((a, b) => a - b)
  }

  /** Adds these rules, or replaces those with the same scope, target, currency and beginning. */
  with(changed: readonly PlanRule[]): Plan {
    const rules = new Map(this.#rules)
    for (const rule of changed) {
      const key = keyOf(rule.scope, rule.target)
      const others = (rules.get(key) ?? NO_RULES).filter((other) => !hasSameIdentity(other, rule))
      rules.set(key, [...others, rule].sort(byPrecedence))
    }
    return new Plan(rules)
  }

  /**
   * The rules for a package in a currency, in the order of precedence: including those that are removed or not currently
   * valid.
   */
  *rulesFor({ packageCode, location, supplier }: RuleSubject, currencyCode: string): Iterable<PlanRule> {
    yield* this.#rulesOf(keyOf('PACKAGE', packageCode), currencyCode)
    yield* this.#rulesOf(keyOf('LOCATION', location), currencyCode)
    if (supplier !== undefined) yield* this.#rulesOf(keyOf('SUPPLIER', supplier), currencyCode)
    yield* this.#rulesOf(keyOf('ALL', ''), currencyCode)
  }

  *#rulesOf(key: string, currencyCode: string): Iterable<PlanRule> {
    for (const rule of this.#rules.get(key) ?? NO_RULES) {
      if (rule.currencyCode === '' || rule.currencyCode === currencyCode) yield rule
    }
  }

  /** The last time, up to `now`, at which a rule that may affect every package changed, or any rule began or ended (ms). */
  wideChangedAt(now: number): number {
    return Math.max(this.#wideUpdatedAt, this.#switches.findLast((time) => time <= now) ?? 0)
  }

  /** The packages that have, or had, a fixed price in the currency. */
  *fixedPrices(currencyCode: string): Iterable<string> {
    for (const rule of this.packageRules()) if (rule.currencyCode === currencyCode) yield rule.target
  }

  /** True if every package has, or had, a fixed price in the currency. */
  hasFixedPriceForAll(currencyCode: string): boolean {
    return (this.#rules.get(keyOf('ALL', '')) ?? NO_RULES).some((rule) => rule.currencyCode === currencyCode)
  }

  /** All rules for single packages. */
  *packageRules(): Iterable<PlanRule> {
    for (const rules of this.#rules.values()) if (rules[0]?.scope === 'PACKAGE') yield* rules
  }
}

function keyOf(scope: RuleScope, target: string): string {
  return `${scope} ${target}`
}

function hasSameIdentity(a: PlanRule, b: PlanRule): boolean {
  return a.currencyCode === b.currencyCode && a.validFrom === b.validFrom
}

function byPrecedence(a: PlanRule, b: PlanRule): number {
  if (a.validFrom !== b.validFrom) return a.validFrom < b.validFrom ? 1 : -1
  if (a.currencyCode === b.currencyCode) return 0
  return a.currencyCode < b.currencyCode ? 1 : -1
}
