import type { Snapshot } from '../catalogue.ts'
import { cheapestCost, type IsUsable } from './explain-price.ts'
import type { Plan, PlanRule } from './plan-rules.ts'
import { quote, type Tariff } from './quote.ts'

/** The effect of setting or removing a rule on tenants whose prices come from its plan, not from prices of their own. */
export interface PlanPreview {
  /** The time for which prices are shown: now, or when the rule begins (ms). */
  readonly at: number
  /** Packages on sale in that currency. */
  readonly packages: number
  readonly changed: number
  readonly cheaper: number
  readonly dearer: number
  /** Packages whose new price is below the lowest cost, as far as costs are known. */
  readonly belowCost: number
  /** Packages that change, remain on sale and have no known cost in the currency, so that a loss would go unnoticed. */
  readonly unknownCosts: number
  /** The first packages that change: losses first, then the largest changes, then the lowest margins. */
  readonly lines: readonly PreviewLine[]
}

interface PreviewLine {
  readonly packageCode: string
  readonly name: string
  /** null: not for sale. */
  readonly before: bigint | null
  readonly after: bigint | null
  /** The lowest cost in the currency; null: unknown. */
  readonly cost: bigint | null
}

const LINES_MAX = 50

/** Compares the prices of a plan with and without a changed or removed rule, for one currency. Nothing is saved. */
export function previewRule(snapshot: Snapshot, { planName, rule, currencyCode, isUsable }: PreviewInput): PlanPreview {
  const at = Math.max(snapshot.now(), rule.validFrom)
  const plan = snapshot.plan(planName)
  const [before, after] = [plan, plan.with([rule])].map((version) => tariffOfPlan(version, planName, currencyCode))
  const lines: PreviewLine[] = []
  let packages = 0
  for (const item of snapshot.packages) {
    if (!item.onSale) continue
    const [old, next] = [quote(before!, item, at).price, quote(after!, item, at).price]
    const { packageCode, name } = item
    const cost = cheapestCost(item, currencyCode, isUsable)
    const line = { packageCode, name, before: old ?? null, after: next ?? null, cost }
    if (line.before !== null || line.after !== null) packages += 1
    if (line.before !== line.after) lines.push(line)
  }
  const both = lines.filter((line) => line.before !== null && line.after !== null)
  return {
    ...{ at, packages, changed: lines.length },
    cheaper: both.filter((line) => line.after! < line.before!).length,
    dearer: both.filter((line) => line.after! > line.before!).length,
    belowCost: lines.filter(isBelowCost).length,
    unknownCosts: lines.filter(({ after, cost }) => after !== null && cost === null).length,
    lines: lines.sort(byRisk).slice(0, LINES_MAX),
  }
}

interface PreviewInput {
  planName: string
  /** The rule as it would be after the change. */
  rule: PlanRule
  currencyCode: string
  /** Checks whether a supplier is usable. Other suppliers' costs do not count. */
  isUsable: IsUsable
}

function tariffOfPlan(plan: Plan, planName: string, currencyCode: string): Tariff {
  const period = { plan, planName, by: 'PLAN' as const, from: 0, until: Number.POSITIVE_INFINITY }
  return { currencyCode, ownPrices: new Map(), plans: [period], formerPlans: [], changedAt: 0 }
}

function isBelowCost({ after, cost }: PreviewLine): boolean {
  return after !== null && cost !== null && after < cost
}

function byRisk(a: PreviewLine, b: PreviewLine): number {
  const losses = Number(isBelowCost(b)) - Number(isBelowCost(a))
  const changes = shareChanged(b) - shareChanged(a)
  return losses || changes || marginOf(a) - marginOf(b) || (a.packageCode < b.packageCode ? -1 : 1)
}

/** The part of the new price that is not cost; a margin that is not known counts as 1. */
function marginOf({ after, cost }: PreviewLine): number {
  if (!after || cost === null) return 1
  return Number(after - cost) / Number(after)
}

/** A price that is added or removed counts as the largest change. */
function shareChanged({ before, after }: PreviewLine): number {
  if (before === null || after === null || before === 0n) return Number.MAX_VALUE
  return Math.abs(Number(after - before) / Number(before))
}
