import type { Statement } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { coverageOf, covers, matchesWords, searchTextOf, splitKeyword } from '../coverage.ts'
import type { PackageDocument, PriceDocument, SupplierDocument } from './package-document.ts'

/** A Db or a Tx. */
interface Reader {
  query<Row>(statement: Statement): Promise<Row[]>
}

/** Finds the packages with these codes; codes that do not exist are absent. */
export async function findDocuments(db: Reader, codes: readonly string[]): Promise<Map<string, PackageDocument>> {
  const rows = await db.query<DocumentRow>({ text: `${SELECT} where p.package_code = any ($1)`, values: [codes] })
  return new Map(rows.map((row) => [row.packageCode, documentOf(row)]))
}

export interface PackageAtRevision {
  readonly document: PackageDocument
  /** When any part of the package last changed. Pass it to `putPackages` with a change. */
  readonly revision: Date
}

/** @throws Refusal if the package does not exist */
export async function getPackage(db: Reader, packageCode: string): Promise<PackageAtRevision> {
  // The revision is read first: if the package changes in between, a change based on it is refused, never lost.
  const [row] = await db.query<{ touchedAt: Date }>(sql`
    select touched_at from packages where package_code = ${packageCode}`)
  const document = row && (await findDocuments(db, [packageCode])).get(packageCode)
  if (!document) throw notFound('package', packageCode)
  return { document, revision: row.touchedAt }
}

/** Selects packages by conditions that must all hold. */
export interface PackageFilter {
  readonly packageCodes?: readonly string[] | undefined
  readonly locationCode?: string | undefined
  readonly keyword?: string | undefined
  readonly status?: PackageDocument['status'] | undefined
  readonly dataType?: PackageDocument['dataType'] | undefined
  readonly supplier?: string | undefined
}

/** The number of packages read at a time: a batch of packages that all cover the world takes about 10 MB. */
const BATCH_ROWS = 500

/** How a list of packages is sorted: by the value of a member, then by code. */
export interface PackageOrder {
  readonly column?: PackageSort
  readonly ascending?: boolean
}

const SORTS = {
  packageCode: { by: 'p.package_code', valueOf: ({ packageCode }: PackageDocument) => packageCode },
  name: { by: 'p.name', valueOf: ({ name }: PackageDocument) => name },
  duration: { by: 'p.duration', valueOf: ({ duration }: PackageDocument) => String(duration) },
  // Unlimited is more than any volume.
  volume: {
    by: 'coalesce(p.volume, 9223372036854775807)',
    valueOf: ({ volume }: PackageDocument) => String(volume ?? 9_223_372_036_854_775_807n),
  },
} as const

export type PackageSort = keyof typeof SORTS

/** Where the page after a package begins. */
export function positionOf(document: PackageDocument, { column = 'packageCode' }: PackageOrder): readonly string[] {
  return [SORTS[column].valueOf(document), document.packageCode]
}

/** Lists the packages that match the filter in batches, by code or in another order, optionally starting after a position. */
export async function* listDocumentBatches(
  db: Reader,
  filter: PackageFilter = {},
  options: BatchOptions = {},
): AsyncGenerator<PackageDocument[]> {
  for await (const { documents } of readBatches(db, filter, options)) if (documents.length > 0) yield documents
}

type BatchOptions = PackageOrder & { after?: readonly string[] | undefined; rows?: number }

async function* readBatches(
  db: Reader,
  filter: PackageFilter,
  { column = 'packageCode', ascending = true, rows: batchRows = BATCH_ROWS, ...options }: BatchOptions,
): AsyncGenerator<{ read: number; documents: PackageDocument[] }> {
  const direction = ascending ? 'asc' : 'desc'
  for (let after = options.after; ; ) {
    const beyond =
      after === undefined ? '' : `and (${SORTS[column].by}, p.package_code) ${ascending ? '>' : '<'} ($5, $6)`
    const rows = await db.query<DocumentRow>({
      text: `${SELECT}
             where ${CONDITIONS} ${beyond}
             order by ${SORTS[column].by} ${direction}, p.package_code ${direction} limit ${batchRows}`,
      values: [...valuesOf(filter), ...(after ?? [])],
    })
    const documents = rows.map(documentOf)
    yield { read: rows.length, documents: documents.filter((document) => matches(document, filter)) }
    if (rows.length < batchRows) return
    after = positionOf(documents.at(-1)!, { column })
  }
}

/** The number of packages read to count those with a keyword or location. Parsing more would delay orders on this node. */
const COUNTED_IN_MEMORY_MAX = 2_000

/** Counts the packages that match. Keywords and locations are matched in memory, in the first packages only. */
export async function countPackages(
  db: Reader,
  filter: PackageFilter,
): Promise<{ count: number; isComplete: boolean }> {
  const [all] = await countAll(db, filter)
  if (filter.keyword === undefined && filter.locationCode === undefined) return { ...all!, isComplete: true }
  let [count, read] = [0, 0]
  for await (const batch of readBatches(db, filter, {})) {
    count += batch.documents.length
    read += batch.read
    if (read >= COUNTED_IN_MEMORY_MAX) break
  }
  return { count, isComplete: read >= all!.count }
}

function countAll(db: Reader, filter: PackageFilter): Promise<{ count: number }[]> {
  return db.query({
    text: `select count(*)::int as count from packages p where ${CONDITIONS}`,
    values: valuesOf(filter),
  })
}

const CONDITIONS = `
  ($1::text[] is null or p.package_code = any ($1))
  and ($2::boolean is null or p.on_sale = $2)
  and ($3::text is null or p.data_type = $3)
  and ($4::text is null or exists (select from package_suppliers s
                                   where s.package_code = p.package_code and s.supplier = $4))`

function valuesOf(filter: PackageFilter): unknown[] {
  return [
    filter.packageCodes ?? null,
    filter.status === undefined ? null : filter.status === 'ON_SALE',
    filter.dataType ?? null,
    filter.supplier ?? null,
  ]
}

/** Checks conditions on locations and keywords with the same functions that lists for dealers use. */
function matches(document: PackageDocument, { locationCode, keyword }: PackageFilter): boolean {
  if (locationCode === undefined && keyword === undefined) return true
  const coverage = coverageOf(document.locationCodes, document.locationNetworkList)
  if (locationCode !== undefined && !covers(coverage, locationCode)) return false
  return keyword === undefined || matchesWords(searchTextOf(document), coverage, splitKeyword(keyword))
}

const SELECT = `
  select p.package_code, p.slug, p.package_type, p.product_family, p.name, p.description, p.on_sale,
    p.data_type, p.volume, p.duration, p.duration_unit, p.period_num_min, p.period_num_max,
    p.unused_valid_time, p.activation_policy,
    p.ekyc_required, c.location_codes,
    c.location_networks as location_network_list, p.speed, p.fup_policy, p.sms_status,
    p.allow_loss,
    json_build_object('cancellable', cancellable, 'withinDays', cancel_within_days,
                      'feePercent', cancel_fee_percent) as cancel_policy,
    (select coalesce(json_agg(json_build_object('currencyCode', currency_code, 'price', price,
                                                'retailPrice', retail_price) order by currency_code), '[]')
     from list_prices l where l.package_code = p.package_code and not removed) as prices,
    (select coalesce(json_agg(json_build_object('supplier', supplier, 'productCode', product_code,
                                                'costPrice', cost_price, 'costCurrency', cost_currency)
                              order by position), '[]')
     from package_suppliers s where s.package_code = p.package_code) as suppliers
  from packages p join coverages c using (coverage_id)`

type DocumentRow = Omit<PackageDocument, 'status' | 'volume' | 'prices' | 'suppliers'> & {
  onSale: boolean
  volume: bigint | null
  prices: PriceDocument[]
  suppliers: SupplierDocument[]
}

function documentOf(row: DocumentRow): PackageDocument {
  const { packageCode, slug, packageType, productFamily, name, description, onSale, dataType, volume, ...rest } = row
  return {
    ...{
      packageCode,
      slug,
      packageType,
      productFamily,
      name,
      description,
      status: onSale ? 'ON_SALE' : 'OFF_SALE',
      dataType,
    },
    volume: volume === null ? null : Number(volume),
    ...rest,
  }
}

/** Finds which of these packages are off sale, whatever their status, because none of their suppliers has money. */
export async function findLackingMoney(db: Reader, codes: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ packageCode: string }>(sql`
    select package_code from packages where package_code = any (${codes}) and lacks_money`)
  return new Set(rows.map(({ packageCode }) => packageCode))
}

/** Returns the names to which no supplier belongs. */
export async function listUnknownSuppliers(db: Reader, names: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ name: string }>(sql`
    select distinct name from unnest(${names}::text[]) as name
    where name not in (select supplier from suppliers) order by 1`)
  return rows.map(({ name }) => name)
}
