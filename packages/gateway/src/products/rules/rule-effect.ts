import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { readPlan } from './compute-changes.ts'
import type { PlannedPackage } from './plan-packages.ts'
import type { SaleRule } from './sale-rule.ts'

/** What a rule would currently sell, for the person who is typing it. Money is in 1/10 000 of currencyCode. */
export interface RuleEffect {
  readonly currencyCode: string
  /** Packages that the rule makes; if none, the members below are null. */
  readonly packages: number
  readonly lowestPrice: number | null
  /** Percent of the price, rounded down: price 4.00 and cost 3.00 is 25. */
  readonly lowestMargin: number | null
  readonly medianMargin: number | null
  readonly highestMargin: number | null
  /** Up to five, from the cheapest to the most expensive. */
  readonly examples: readonly RuleExample[]
}

export interface RuleExample {
  readonly name: string
  readonly locationCodes: readonly string[]
  readonly cost: number
  readonly price: number
  /** As a percentage of the price. */
  readonly margin: number
}

const EXAMPLES = 5

/** @param rule as it is typed; other rules count as they are saved */
export async function effectOfRule(db: Db, ruleName: string, rule: SaleRule): Promise<RuleEffect> {
  const plan = await db.tx(async (tx) => {
    tx.send({ text: 'set transaction isolation level repeatable read, read only' })
    return (await readPlan(tx, 'definition', new Map([[ruleName, rule]]))).plan
  })
  const made = [...plan.packages.values()].filter((one) => one.ruleName === ruleName)
  const lines = made.map(exampleOf).sort((a, b) => a.price - b.price)
  const margins = lines.map(({ margin }) => margin).sort((a, b) => a - b)
  return {
    currencyCode: rule.currencyCode,
    packages: lines.length,
    lowestPrice: lines[0]?.price ?? null,
    lowestMargin: margins[0] ?? null,
    medianMargin: margins[margins.length >> 1] ?? null,
    highestMargin: margins.at(-1) ?? null,
    examples: spread(lines),
  }
}

function exampleOf({ input, price, cost }: PlannedPackage): RuleExample {
  return {
    name: String(input.name),
    locationCodes: input.locationCodes as readonly string[],
    cost: Number(cost),
    price: Number(price),
    margin: Math.floor(Number(((price - cost) * 100n) / price)),
  }
}

/** The first, the last, and evenly spaced ones between them. */
function spread<Line>(lines: readonly Line[]): Line[] {
  if (lines.length <= EXAMPLES) return [...lines]
  return Array.from({ length: EXAMPLES }, (_, i) => lines[Math.round((i * (lines.length - 1)) / (EXAMPLES - 1))]!)
}
