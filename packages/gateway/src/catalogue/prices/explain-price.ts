import type { Buyer, CataloguePackage, Snapshot } from '../catalogue.ts'
import { isValidAt, type PlanRule } from './plan-rules.ts'
import { listPriceIn, type NoPrice, priceByRule, type Quote, quote, subjectOf } from './quote.ts'

/** One possible source of a price, in the order of precedence. */
export interface PriceStep {
  readonly source: NonNullable<Quote['source']>
  /** The plan of the rule; null for own and list prices. */
  readonly planName: string | null
  readonly rule: PlanRule | null
  /** The price from this step, whether or not it decides; null if it yields none. */
  readonly price: bigint | null
  /**
   * DECIDES: this is the price. OVERRIDDEN: an earlier step decides. NONE: there is no such price or plan. The other values
   * say why a rule yields no price.
   */
  readonly state: 'DECIDES' | 'OVERRIDDEN' | 'NONE' | 'NOT_YET' | 'ENDED' | NoPrice
}

export interface Explanation {
  readonly quote: Quote
  /** The lowest cost of a usable supplier in the buyer's currency; null: unknown. */
  readonly cost: bigint | null
  readonly steps: readonly PriceStep[]
}

/** Checks whether a supplier, given its name, accepts orders now. */
export type IsUsable = (supplier: string) => boolean

/** Explains why a buyer pays its price for a package: every possible source of the price, and the deciding one. */
export function explainPrice(
  snapshot: Snapshot,
  buyer: Buyer,
  item: CataloguePackage,
  { now, isUsable }: { now: number; isUsable: IsUsable },
): Explanation {
  const tariff = snapshot.tariffOf(buyer)
  const quoted = quote(tariff, item, now)
  const list = listPriceIn(item, tariff.currencyCode)
  const own = tariff.ownPrices.get(item.packageCode)
  const steps: PriceStep[] = [fixedStep('OWN', own), ...plansOf('PLAN'), ...plansOf('GROUP'), fixedStep('LIST', list)]

  function plansOf(by: 'PLAN' | 'GROUP'): PriceStep[] {
    return tariff.plans
      .filter((period) => period.by === by)
      .flatMap(({ plan, planName }) =>
        [...plan.rulesFor(subjectOf(item), tariff.currencyCode)]
          .filter((rule) => !rule.removed)
          .map((rule) => ({ source: by, planName, rule, ...resultOf(rule) })),
      )
  }

  function resultOf(rule: PlanRule): Pick<PriceStep, 'price' | 'state'> {
    if (!isValidAt(rule, now)) return { price: null, state: rule.validFrom > now ? 'NOT_YET' : 'ENDED' }
    const result = priceByRule(rule, list, item)
    return typeof result === 'bigint' ? { price: result, state: 'OVERRIDDEN' } : { price: null, state: result }
  }

  const decides = quoted.decidedBy
    ? steps.findIndex(({ rule }) => rule === quoted.decidedBy!.rule)
    : steps.findIndex(({ source }) => source === quoted.source)
  const marked = steps.map((step, index): PriceStep => {
    return index === decides && step.price !== null ? { ...step, state: 'DECIDES' } : step
  })
  return { quote: quoted, cost: cheapestCost(item, tariff.currencyCode, isUsable), steps: marked }
}

function fixedStep(source: 'OWN' | 'LIST', given: { price: bigint; removed: boolean } | undefined): PriceStep {
  const price = given && !given.removed ? given.price : null
  return { source, planName: null, rule: null, price, state: price === null ? 'NONE' : 'OVERRIDDEN' }
}

/**
 * The lowest cost of a package in a currency, at suppliers that accept orders; null: unknown. Orders skip a supplier that
 * costs more than the price.
 */
export function cheapestCost(
  { routes }: Pick<CataloguePackage, 'routes'>,
  currencyCode: string,
  isUsable: IsUsable,
): bigint | null {
  let lowest: bigint | null = null
  for (const { supplier, cost, costCurrency } of routes) {
    if (cost === null || costCurrency !== currencyCode || !isUsable(supplier)) continue
    if (lowest === null || cost < lowest) lowest = cost
  }
  return lowest
}
