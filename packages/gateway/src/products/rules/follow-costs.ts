import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { beginChange } from '#catalogue/catalogue-version.ts'
import { listDifferences, warningsOf } from '#catalogue/packages/package-difference.ts'
import type { PackageDocument } from '#catalogue/packages/package-document.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { writeRulePackages } from './apply-rules.ts'
import { computeChanges, type RulePackage } from './compute-changes.ts'
import type { PlannedPackage } from './plan-packages.ts'
import { isChange } from './preview-rules.ts'
import type { ParsedRule } from './sale-rule.ts'

/** How packages followed a change in costs. The lists contain package codes. */
export interface CostsFollowed {
  readonly repriced: number
  /** Packages with different costs, different suppliers, or a different order of suppliers. */
  readonly rerouted: number
  readonly offSale: readonly string[]
  readonly onSale: readonly string[]
  /** Packages whose price would fall by more than half; an operator has to decide about these. */
  readonly doubtful: readonly string[]
}

export const NOTHING_FOLLOWED: CostsFollowed = { repriced: 0, rerouted: 0, offSale: [], onSale: [], doubtful: [] }

/**
 * Makes the packages of rules follow changed costs, according to the rules as last applied. Costs and suppliers always
 * follow; depending on the rule, either the price follows, or the package goes off and on sale. Nothing else changes, and
 * nothing new goes on sale. Takes the catalogue's lock.
 */
export async function followCosts(tx: Tx, deps: { ids: Ids }): Promise<CostsFollowed> {
  const { stamp, checkTime } = await beginChange(tx)
  const { packages, rules } = await computeChanges(tx, 'applied')
  const followed: RulePackage[] = []
  const doubtful: string[] = []
  for (const one of packages) {
    // If a package's rule was deleted or is not applied, the package waits for an operator.
    const rule = rules.get(one.planned?.ruleName ?? one.ruleBefore ?? '')
    if (one.before === undefined || rule === undefined) continue
    const { change, isDoubtful } = followOne(one, one.before, rule)
    if (isDoubtful) doubtful.push(one.packageCode)
    if (isChange(change)) followed.push(change)
  }
  await writeRulePackages(tx, deps, stamp, followed, SYSTEM)
  checkTime()
  return { ...summaryOf(followed), doubtful }
}

function followOne(one: RulePackage, before: PackageDocument, rule: ParsedRule) {
  const { planned, wasOffByRule } = one
  if (planned === undefined) return { change: one, isDoubtful: false }
  const { suppliers } = planned
  const repriced = { ...before, suppliers, prices: one.after.prices }
  const isDoubtful =
    rule.whenCostsChange === 'REPRICE' &&
    warningsOf(listDifferences({ before, after: repriced })).includes('PRICE_FALLS')
  const prices = rule.whenCostsChange === 'REPRICE' && !isDoubtful ? one.after.prices : before.prices
  const sells = hasMargin(prices, planned, rule)
  // A package that an operator took off sale stays off sale.
  const mayBeOn = before.status === 'ON_SALE' || wasOffByRule
  const after: PackageDocument = { ...before, suppliers, prices, status: mayBeOn && sells ? 'ON_SALE' : 'OFF_SALE' }
  return { change: { ...one, after, isOffByRule: mayBeOn && !sells }, isDoubtful }
}

function hasMargin(prices: PackageDocument['prices'], planned: PlannedPackage, { costPlus }: ParsedRule): boolean {
  const price = prices.find(({ currencyCode }) => currencyCode === planned.currencyCode)?.price
  return price !== undefined && BigInt(price) >= planned.cost + costPlus.minMargin
}

function summaryOf(followed: readonly RulePackage[]) {
  const codes = (list: readonly RulePackage[]) => list.map(({ packageCode }) => packageCode)
  const isJson = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
  return {
    repriced: followed.filter(({ before, after }) => !isJson(before?.prices, after.prices)).length,
    rerouted: followed.filter(({ before, after }) => !isJson(before?.suppliers, after.suppliers)).length,
    offSale: codes(followed.filter(({ before, after }) => before?.status === 'ON_SALE' && after.status === 'OFF_SALE')),
    onSale: codes(followed.filter(({ before, after }) => before?.status === 'OFF_SALE' && after.status === 'ON_SALE')),
  }
}
