import { createHash } from 'node:crypto'
import { formatMoney } from '@dealer-esim/contract'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import {
  differingMembers,
  listDifferences,
  type PackageChange,
  warningsOf,
} from '#catalogue/packages/package-difference.ts'
import type { PackageDocument } from '#catalogue/packages/package-document.ts'
import { type ComputedChanges, computeChanges, type RulePackage } from './compute-changes.ts'
import { type ExchangeRate, listRates, RATE_DAYS_MAX } from './exchange-rates.ts'
import type { SkipReason } from './plan-packages.ts'
import type { SaleRule } from './sale-rule.ts'

/** The effect of applying the rules on one package. */
export interface PreviewLine {
  readonly packageCode: string
  readonly change: PreviewChange
  readonly name: string
  readonly ruleName: string | null
  readonly currencyCode: string | null
  /** In 1/10 000; null: no price. */
  readonly priceBefore: number | null
  readonly priceAfter: number | null
  /** The cost at the supplier that is tried first, in the currency of the price. */
  readonly cost: number | null
  /** The price minus that cost. */
  readonly margin: number | null
  readonly suppliers: PackageDocument['suppliers']
  /** PRICE_FALLS, PRICE_REMOVED, BELOW_COST: check the change before applying it. */
  readonly warnings: readonly string[]
  /** The reason why it is left unchanged or goes off sale. */
  readonly reason: string | null
}

export const PREVIEW_CHANGES = ['ADDED', 'CHANGED', 'ON_SALE', 'OFF_SALE', 'BLOCKED'] as const
export type PreviewChange = (typeof PREVIEW_CHANGES)[number]

export interface Preview {
  /** Identifies the result of applying: the rules are applied only if the result is still the same. */
  readonly basis: string
  readonly counts: Readonly<Record<PreviewChange | 'UNCHANGED', number>>
  /** Changed packages whose price changes. */
  readonly repriced: number
  /** Packages with warnings. */
  readonly doubtful: number
  readonly products: number
  readonly unselected: number
  readonly skipped: Readonly<Record<SkipReason, number>>
  /** Rates older than a month. */
  readonly oldRates: readonly Pick<ExchangeRate, 'costCurrency' | 'saleCurrency' | 'ratedAt'>[]
  /** Suppliers' catalogues that are not fully included in the preview. */
  readonly notRead: readonly UnreadCatalogue[]
  /** All packages that would change or are blocked, by code. */
  readonly lines: readonly PreviewLine[]
}

export interface UnreadCatalogue {
  readonly supplier: string
  /**
   * NEVER: no catalogue has been accepted yet. HELD: the latest one has not been accepted yet, so the previous one is used.
   */
  readonly reason: 'NEVER' | 'HELD'
}

/** Previews the rules on one snapshot of the database. @param drafts rules that have not been saved yet */
export async function previewRules(db: Db, drafts: ReadonlyMap<string, SaleRule> = new Map()): Promise<Preview> {
  return db.tx(async (tx) => {
    tx.send({ text: 'set transaction isolation level repeatable read, read only' })
    return previewOf(tx, await computeChanges(tx, 'definition', drafts))
  })
}

async function previewOf(tx: Tx, computed: ComputedChanges): Promise<Preview> {
  const { plan, products } = computed
  const counts: Record<PreviewChange | 'UNCHANGED', number> = {
    ...{ ADDED: 0, CHANGED: 0, ON_SALE: 0, OFF_SALE: 0, BLOCKED: computed.blocked.size, UNCHANGED: 0 },
  }
  const lines: PreviewLine[] = [...computed.blocked].map(([code, reason]) => blockedLine(code, reason))
  for (const one of computed.packages) {
    const change = changeKind(one)
    counts[change]++
    if (change !== 'UNCHANGED') lines.push(lineOf(one, change))
  }
  lines.sort((a, b) => (a.packageCode < b.packageCode ? -1 : 1))
  return {
    basis: basisOf(computed),
    counts,
    repriced: lines.filter(({ change, priceBefore, priceAfter }) => change === 'CHANGED' && priceBefore !== priceAfter)
      .length,
    doubtful: lines.filter(({ warnings }) => warnings.length > 0).length,
    products,
    unselected: plan.unselected,
    skipped: plan.skipped,
    oldRates: await listOldRates(tx),
    notRead: await tx.query<UnreadCatalogue>(sql`
      select supplier, case when accepted_at is null then 'NEVER' else 'HELD' end as reason
      from supplier_syncs where accepted_at is null or held_at is not null order by supplier`),
    lines,
  }
}

/** @returns whether applying would write something */
export function isChange(one: RulePackage): boolean {
  return changeKind(one) !== 'UNCHANGED'
}

function changeKind(one: RulePackage): PreviewChange | 'UNCHANGED' {
  const { before, after, ruleBefore, planned, wasOffByRule, isOffByRule } = one
  if (before === undefined) return 'ADDED'
  if (before.status !== after.status) return after.status
  const isSameRule = planned === undefined || planned.ruleName === ruleBefore
  if (differingMembers({ before, after }).length === 0 && isSameRule && wasOffByRule === isOffByRule) return 'UNCHANGED'
  return 'CHANGED'
}

function lineOf(one: RulePackage, change: PreviewChange): PreviewLine {
  const { packageCode, before, after, planned, ruleBefore } = one
  const currencyCode = planned?.currencyCode ?? after.prices[0]?.currencyCode ?? null
  const priceIn = (document: PackageDocument | undefined) =>
    document?.prices.find((price) => price.currencyCode === currencyCode)?.price ?? null
  const priceAfter = priceIn(after)
  const cost = planned ? Number(planned.cost) : null
  return {
    ...{ packageCode, change, name: after.name, ruleName: planned?.ruleName ?? ruleBefore, currencyCode },
    ...{ priceBefore: priceIn(before), priceAfter, cost },
    margin: cost === null || priceAfter === null ? null : priceAfter - cost,
    suppliers: after.suppliers,
    warnings: warningsOf(listDifferences(changeIn(one))),
    reason: planned === undefined ? 'No supplier lists a product from which a rule would make this package.' : null,
  }
}

function blockedLine(packageCode: string, reason: string): PreviewLine {
  return {
    ...{ packageCode, change: 'BLOCKED', name: '', ruleName: null, currencyCode: null, priceBefore: null },
    ...{ priceAfter: null, cost: null, margin: null, suppliers: [], warnings: [], reason },
  }
}

export function changeIn({ before, after }: RulePackage): PackageChange {
  return { before, after }
}

/** A hash of every change in full. Excludes blocked packages, because applying leaves them unchanged. */
export function basisOf({ packages }: Pick<ComputedChanges, 'packages'>): string {
  const hash = createHash('sha256')
  for (const one of packages) {
    if (!isChange(one)) continue
    const { packageCode, planned, before, after, isOffByRule } = one
    hash.update(JSON.stringify([packageCode, planned?.ruleName ?? null, isOffByRule, before ?? null, after]))
  }
  return hash.digest('hex').slice(0, BASIS_LENGTH)
}

const BASIS_LENGTH = 32

async function listOldRates(tx: Tx): Promise<Preview['oldRates']> {
  const [clock] = await tx.query<{ now: Date }>({ text: 'select now() as now' })
  const oldest = clock!.now.getTime() - RATE_DAYS_MAX * 86_400_000
  const old = (await listRates(tx)).filter(({ ratedAt }) => ratedAt.getTime() < oldest)
  return old.map(({ costCurrency, saleCurrency, ratedAt }) => ({ costCurrency, saleCurrency, ratedAt }))
}

/** The cells of a CSV file: a header, then one row per package. */
export function previewCells({ lines }: Preview): string[][] {
  const header = [
    'packageCode',
    'change',
    'name',
    'rule',
    'currencyCode',
    'priceBefore',
    'priceAfter',
    'cost',
    'margin',
  ]
  return [
    [...header, 'suppliers', 'warnings', 'reason'],
    ...lines.map((row) => [
      ...[row.packageCode, row.change, row.name, row.ruleName ?? '', row.currencyCode ?? ''],
      ...[row.priceBefore, row.priceAfter, row.cost, row.margin].map((units) =>
        units === null ? '' : formatMoney(units),
      ),
      row.suppliers.map(({ supplier, productCode }) => `${supplier}:${productCode}`).join(' '),
      row.warnings.join(' '),
      row.reason ?? '',
    ]),
  ]
}
