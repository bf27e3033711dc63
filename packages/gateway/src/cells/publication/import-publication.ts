import { joinTransaction, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { beginChange } from '#catalogue/catalogue-version.ts'
import type { PackageDocument } from '#catalogue/packages/package-document.ts'
import { type ChangeDeps, putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { findDocuments, listUnknownSuppliers } from '#catalogue/packages/read-packages.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { writeOwners } from '#products/rules/apply-rules.ts'
import { setRate } from '#products/rules/exchange-rates.ts'
import { setRule } from '#products/rules/manage-rules.ts'
import { importPlans, type PlanCounts } from './import-plans.ts'
import type {
  PublicationEntry,
  PublicationHead,
  PublishedPlan,
  PublishedRate,
  PublishedSaleRule,
} from './publication-entries.ts'

export interface PublicationReport {
  readonly from: PublicationHead
  readonly added: number
  readonly changed: number
  readonly unchanged: number
  readonly plans: PlanCounts
  readonly saleRules: number
  /** Packages that are on sale here but missing from the publication. */
  readonly notPublished: readonly string[]
  /** true if these packages were taken off sale. */
  readonly isTakenOffSale: boolean
  /** The suppliers that packages need and this cell lacks. Add them under the same names. */
  readonly unknownSuppliers: readonly string[]
}

export interface ImportOptions {
  /** This cell's name. */
  readonly cell: string
  /** Changes nothing: makes and reports all changes, then rolls them back. */
  readonly dryRun: boolean
  /** Takes off sale the packages that are missing from the publication. */
  readonly takeOthersOffSale: boolean
  /** Accepts a publication older than the one imported last. */
  readonly allowOlder: boolean
}

/** The number of packages written together. */
const BATCH_ROWS = 250

/**
 * Replaces packages, price plans, sale rules and exchange rates with another cell's, all or nothing, under the catalogue's
 * lock, using the same functions as single changes. Entries that exist only in this cell stay as they are.
 * @throws Refusal that says what to correct
 */
export async function importPublication(
  deps: ChangeDeps,
  entries: AsyncIterable<PublicationEntry>,
  options: ImportOptions,
  by: By,
): Promise<PublicationReport> {
  let report: PublicationReport | undefined
  try {
    await deps.db.tx(async (tx) => {
      report = await importEntries(tx, { ...deps, db: joinTransaction(deps.db, tx) }, entries, options, by)
      if (options.dryRun) throw new DryRun()
    })
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  return report!
}

class DryRun extends Error {}

async function importEntries(
  tx: Tx,
  deps: ChangeDeps,
  entries: AsyncIterable<PublicationEntry>,
  options: ImportOptions,
  by: By,
): Promise<PublicationReport> {
  const { checkTime } = await beginChange(tx)
  const read = await importPackages(deps, entries, { tx, options }, by)
  const { head, codes, suppliers, counts } = read
  for (const one of read.rates) await importRate(deps, one, by)
  for (const one of read.saleRules) await importSaleRule(tx, deps, one, by)
  const plans = await importPlans(deps, read.plans, by)
  const notPublished = await listOthersOnSale(tx, codes)
  if (options.takeOthersOffSale && notPublished.length > 0)
    await setOnSale(deps, { packageCodes: notPublished }, false, by)
  recordImport(tx, head)
  const after = { cell: head.cell, catalogueVersion: head.catalogueVersion, ...counts }
  audit(tx, deps.ids, { tenantId: null, ...by, action: 'cell.import', subject: head.cell, after })
  checkTime()
  return {
    ...{ from: head, ...counts, plans, saleRules: read.saleRules.length, notPublished },
    isTakenOffSale: options.takeOthersOffSale,
    unknownSuppliers: await listUnknownSuppliers(tx, [...suppliers].sort()),
  }
}

type PackageEntry = Extract<PublicationEntry, { package: unknown }>

/** Imports packages while reading them. Collects the rest, which is small and may refer to the packages. */
async function importPackages(
  deps: ChangeDeps,
  entries: AsyncIterable<PublicationEntry>,
  { tx, options }: { tx: Tx; options: ImportOptions },
  by: By,
) {
  let head: PublicationHead | undefined
  const counts = { added: 0, changed: 0, unchanged: 0 }
  const [codes, suppliers] = [new Set<string>(), new Set<string>()]
  const [rates, saleRules, plans]: [PublishedRate[], PublishedSaleRule[], PublishedPlan[]] = [[], [], []]
  let batch: PackageEntry[] = []
  const write = async () => {
    const put = await putPublished(tx, deps, batch, by)
    for (const count of ['added', 'changed', 'unchanged'] as const) counts[count] += put[count]
    for (const { package: one } of batch) {
      codes.add(one.packageCode)
      for (const { supplier } of one.suppliers) suppliers.add(supplier)
    }
    batch = []
  }
  for await (const entry of entries) {
    if ('head' in entry) {
      head = entry.head
      await checkHead(tx, head, options)
    } else if ('package' in entry) batch.push(entry)
    else if ('exchangeRate' in entry) rates.push(entry.exchangeRate)
    else if ('saleRule' in entry) saleRules.push(entry.saleRule)
    else if ('pricePlan' in entry) plans.push(entry.pricePlan)
    if (batch.length === BATCH_ROWS) await write()
  }
  await write()
  return { head: head!, codes, suppliers, counts, rates, saleRules, plans }
}

async function checkHead(tx: Tx, head: PublicationHead, { cell, allowOlder }: ImportOptions): Promise<void> {
  if (head.cell === cell)
    throw new Refusal(
      409,
      'OWN_PUBLICATION',
      `This publication comes from this cell, ${cell}. Import it into the other cells.`,
    )
  const [row] = await tx.query<{ publishedAt: Date }>(sql`
    select published_at from cell_imports where cell_name = ${head.cell} for update`)
  if (allowOlder || row === undefined || row.publishedAt.getTime() <= Date.parse(head.publishedAt)) return
  const message = `This file from ${head.cell} was published at ${head.publishedAt}, but a later one has already been imported. Publish again, or import this file with --allow-older.`
  throw new Refusal(409, 'OLDER_PUBLICATION', message)
}

/** Replaces every member with the published one. A currency that is missing from the publication is removed. */
async function putPublished(tx: Tx, deps: ChangeDeps, batch: readonly PackageEntry[], by: By) {
  const existing = await findDocuments(
    tx,
    batch.map((one) => one.package.packageCode),
  )
  const inputs = batch.map(({ package: one }) => ({
    ...one,
    prices: [...one.prices, ...removedPrices(existing.get(one.packageCode), one)],
  }))
  const put = await putPackages(deps, inputs, by)
  await claimForRules(tx, batch)
  return put
}

function removedPrices(before: PackageDocument | undefined, { prices }: PackageDocument) {
  const published = new Set(prices.map(({ currencyCode }) => currencyCode))
  const removed = (before?.prices ?? []).filter(({ currencyCode }) => !published.has(currencyCode))
  return removed.map(({ currencyCode }) => ({ currencyCode, price: null }))
}

/**
 * Assigns packages to the sale rules that made them, once this cell has read the products of all of their suppliers. Before
 * that, the rules would find no product for a package and take it off sale.
 */
async function claimForRules(tx: Tx, batch: readonly PackageEntry[]): Promise<void> {
  const owned = batch.flatMap(({ package: { packageCode, suppliers }, madeBy }) =>
    madeBy === null ? [] : [{ packageCode, ...madeBy, suppliers }],
  )
  if (owned.length === 0) return
  const listed = await tx.query<{ supplier: string; productCode: string }>({
    text: `select supplier, product_code from supplier_products where is_listed and product_code = any ($1)`,
    values: [owned.flatMap(({ suppliers }) => suppliers.map(({ productCode }) => productCode))],
  })
  const known = new Set(listed.map(({ supplier, productCode }) => `${supplier} ${productCode}`))
  const ready = owned.filter(({ suppliers }) =>
    suppliers.every(({ supplier, productCode }) => known.has(`${supplier} ${productCode}`)),
  )
  writeOwners(
    tx,
    ready.map(({ suppliers: _, ...owner }) => owner),
  )
}

async function importRate(deps: ChangeDeps, { costCurrency, saleCurrency, ...value }: PublishedRate, by: By) {
  const [known] = await deps.db.query<{ rate: bigint; ratedAt: Date }>(sql`
    select rate, rated_at from exchange_rates
    where cost_currency = ${costCurrency} and sale_currency = ${saleCurrency}`)
  const ratedAt = new Date(value.ratedAt)
  if (known && Number(known.rate) === value.rate && known.ratedAt.getTime() === ratedAt.getTime()) return
  await setRate(deps, { costCurrency, saleCurrency }, { rate: BigInt(value.rate), ratedAt }, by)
}

/** The packages of a rule are imported too, so the rule counts as applied here if it was applied in the publishing cell. */
async function importSaleRule(tx: Tx, deps: ChangeDeps, { ruleName, rule, applied }: PublishedSaleRule, by: By) {
  await setRule(deps, ruleName, rule, by)
  tx.send({
    text: 'update sale_rules set applied = $2 where rule_name = $1 and applied::jsonb is distinct from $2::jsonb',
    values: [ruleName, applied === null ? null : JSON.stringify(applied)],
  })
}

async function listOthersOnSale(tx: Tx, codes: ReadonlySet<string>): Promise<string[]> {
  const rows = await tx.query<{ packageCode: string }>(sql`select package_code from packages where on_sale order by 1`)
  return rows.map(({ packageCode }) => packageCode).filter((code) => !codes.has(code))
}

function recordImport(tx: Tx, { cell, publishedAt, catalogueVersion }: PublicationHead): void {
  tx.send(sql`
    insert into cell_imports (cell_name, published_at, catalogue_version, imported_at)
    values (${cell}, ${publishedAt}, ${catalogueVersion}, now())
    on conflict (cell_name) do update
    set published_at = excluded.published_at, catalogue_version = excluded.catalogue_version,
      imported_at = excluded.imported_at`)
}
