import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Fault } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { describeIncluded, includedIn } from '@dealer-esim/wholesalers/allowances.ts'
import sql from 'sql-template-tag'
import { mergePackage } from '#catalogue/packages/merge-packages.ts'
import type { PackageDocument } from '#catalogue/packages/package-document.ts'
import { findSlugOwners } from '#catalogue/packages/put-packages.ts'
import { findDocuments } from '#catalogue/packages/read-packages.ts'
import { listRates, ratesByPair } from './exchange-rates.ts'
import type { OfferedProduct } from './package-templates.ts'
import { type PackagePlan, type PlannedPackage, planPackages } from './plan-packages.ts'
import { type ParsedRule, parseRule, type SaleRule } from './sale-rule.ts'

/** A package in its current state, and as the rules would now make it. */
export interface RulePackage {
  readonly packageCode: string
  readonly before: PackageDocument | undefined
  /** null: not made by a rule. */
  readonly ruleBefore: string | null
  /** A rule took it off sale. */
  readonly wasOffByRule: boolean
  /** undefined: no rule makes it any longer. */
  readonly planned: PlannedPackage | undefined
  readonly after: PackageDocument
  /** A rule takes it off sale, or keeps it off sale. */
  readonly isOffByRule: boolean
}

export interface ComputedChanges {
  readonly packages: readonly RulePackage[]
  /** By code: why a package is left unchanged. */
  readonly blocked: ReadonlyMap<string, string>
  readonly plan: PackagePlan
  readonly rules: ReadonlyMap<string, ParsedRule>
  /** Products that suppliers list. */
  readonly products: number
}

/** The number of packages read and merged together, which blocks the event loop for about 20 ms. */
const BATCH_ROWS = 250

/**
 * Computes the packages that the rules make of the suppliers' listed products, and compares them with the existing ones.
 * Changes nothing.
 * @param which the rules as last edited by operators, or as last applied
 * @param drafts replace the rules with the same names, or are added to them
 */
export async function computeChanges(
  tx: Tx,
  which: 'definition' | 'applied',
  drafts: ReadonlyMap<string, SaleRule> = new Map(),
): Promise<ComputedChanges> {
  const { rules, products, plan } = await readPlan(tx, which, drafts)
  const owned = await readOwned(tx)
  const codes = [...new Set([...plan.packages.keys(), ...owned.keys()])]
    .filter((code) => !plan.blocked.has(code))
    .sort()
  const packages: RulePackage[] = []
  const blocked = new Map(plan.blocked)
  for (let start = 0; start < codes.length; start += BATCH_ROWS) {
    const batch = codes.slice(start, start + BATCH_ROWS)
    const existing = await findDocuments(tx, batch)
    for (const packageCode of batch) {
      const planned = plan.packages.get(packageCode)
      const made = changeOf(packageCode, existing.get(packageCode), owned.get(packageCode), planned)
      if (typeof made === 'string') blocked.set(packageCode, made)
      else packages.push(made)
    }
    await nextTurn()
  }
  const taken = await blockTakenSlugs(tx, packages, blocked)
  const byName = new Map(rules.map((rule) => [rule.ruleName, rule]))
  return { packages: taken, blocked, plan, rules: byName, products: products.length }
}

/** What the rules make of the listed products, whatever packages exist. @param drafts as for computeChanges */
export async function readPlan(
  tx: Tx,
  which: 'definition' | 'applied',
  drafts: ReadonlyMap<string, SaleRule>,
): Promise<{ rules: ParsedRule[]; products: OfferedProduct[]; plan: PackagePlan }> {
  const rules = await readRules(tx, which, drafts)
  const products = await readListedProducts(tx)
  return { rules, products, plan: planPackages(rules, products, ratesByPair(await listRates(tx))) }
}

interface Owned {
  ruleName: string
  offSaleByRule: boolean
}

/** @returns a text that says why the package is left as it is */
function changeOf(
  packageCode: string,
  before: PackageDocument | undefined,
  owned: Owned | undefined,
  planned: PlannedPackage | undefined,
): RulePackage | string {
  if (before !== undefined && owned === undefined) {
    return `The package exists and was not made by a rule, so it is left unchanged. Give the rule a different code template.`
  }
  const shared = {
    packageCode,
    ruleBefore: owned?.ruleName ?? null,
    wasOffByRule: owned?.offSaleByRule ?? false,
    planned,
  }
  if (planned === undefined) {
    // If an operator took the package off sale, it stays off sale. Otherwise it would return with its product.
    const isOffByRule = before!.status === 'ON_SALE' || shared.wasOffByRule
    return { ...shared, before: before!, after: { ...before!, status: 'OFF_SALE' }, isOffByRule }
  }
  // An operator who takes a package off sale wants it to stay off sale.
  const staysOff = before?.status === 'OFF_SALE' && !shared.wasOffByRule
  const status = staysOff ? 'OFF_SALE' : 'ON_SALE'
  const merged = mergePackage(before, { ...planned.input, ...describedBy(before, planned), status })
  if ('faults' in merged) return faultsText(merged.faults)
  return { ...shared, before, after: merged.document, isOffByRule: false }
}

/** The rule describes the package's contents. A description written by an operator is kept. */
function describedBy(
  before: PackageDocument | undefined,
  { included }: PlannedPackage,
): { description?: string | null } {
  const isOwn = before?.description != null && includedIn(before.description) === undefined
  if (isOwn) return {}
  return { description: included === undefined ? null : describeIncluded(included) }
}

function faultsText(faults: readonly Fault[]): string {
  return `It would not be valid: ${faults.map(({ field, reason }) => `${field}: ${reason}`).join(' ')}`
}

/** The slug of a new package is its code, which may already be the slug of another package. */
async function blockTakenSlugs(
  tx: Tx,
  packages: readonly RulePackage[],
  blocked: Map<string, string>,
): Promise<RulePackage[]> {
  const owners = await findSlugOwners(tx, packages)
  return packages.filter(({ packageCode, after }) => {
    const owner = owners.get(after.slug)
    if (owner === undefined || owner === packageCode) return true
    blocked.set(
      packageCode,
      `${after.slug} is the slug of the package ${owner}: give the rule a different code template.`,
    )
    return false
  })
}

async function readRules(
  tx: Tx,
  which: 'definition' | 'applied',
  drafts: ReadonlyMap<string, SaleRule>,
): Promise<ParsedRule[]> {
  const rows = await tx.query<{ ruleName: string; rule: SaleRule }>({
    text: `select rule_name, ${which} as rule from sale_rules where ${which} is not null`,
  })
  const rules = new Map([...rows.map(({ ruleName, rule }): [string, SaleRule] => [ruleName, rule]), ...drafts])
  return [...rules]
    .map(([ruleName, rule]) => parseRule(ruleName, rule))
    .sort((a, b) => a.position - b.position || (a.ruleName < b.ruleName ? -1 : 1))
}

function readListedProducts(tx: Tx): Promise<OfferedProduct[]> {
  return tx.query<OfferedProduct>(sql`
    select supplier, product_code, name, package_type, countries, volume, is_day_pass, duration_days, cost,
      currency_code, fup_policy, included
    from supplier_products where is_listed order by supplier, product_code`)
}

async function readOwned(tx: Tx): Promise<Map<string, Owned>> {
  const rows = await tx.query<Owned & { packageCode: string }>(sql`
    select package_code, rule_name, off_sale_by_rule from rule_packages`)
  return new Map(rows.map(({ packageCode, ...owned }) => [packageCode, owned]))
}
