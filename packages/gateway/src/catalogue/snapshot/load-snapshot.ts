import type { LocationNetwork } from '@dealer-esim/contract'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { type Coverage, coverageOf } from '../coverage.ts'
import type { PlanRuleRow } from '../prices/plan-rules.ts'
import { parseRounding } from '../prices/price-engine.ts'
import type { Assignment, OwnPrice } from '../prices/quote.ts'
import type { CataloguePackage, ListPrice, Route } from './snapshot-package.ts'

/** The changes to the catalogue after a given time, up to one version. */
export interface CatalogueChanges {
  readonly version: bigint
  /** When that version was created (ms). */
  readonly changedAt: number
  readonly packages: readonly CataloguePackage[]
  readonly coverages: ReadonlyMap<string, Coverage>
  readonly planRules: readonly PlanRuleRow[]
  readonly tenantPlans: readonly Assignment[]
  readonly tenantGroups: readonly Assignment[]
  readonly groupPlans: readonly Assignment[]
  readonly ownPrices: readonly OwnPriceRow[]
}

export interface OwnPriceRow extends OwnPrice {
  readonly tenantId: string
  readonly packageCode: string
}

/** How many packages are read at a time: a batch blocks the event loop for a few milliseconds. */
const BATCH_ROWS = 1_000

/**
 * Reads every row newer than `after` (ms; −Infinity: all rows) and the current version in one repeatable-read transaction.
 * Coverages that are already `known` are not read again.
 */
export async function loadChanges(
  db: Db,
  after: number,
  known: ReadonlyMap<string, Coverage>,
): Promise<CatalogueChanges> {
  const since = Number.isFinite(after) ? new Date(after) : '-infinity'
  return db.tx(async (tx) => {
    tx.send({ text: 'set transaction isolation level repeatable read, read only' })
    const [current] = await tx.query<{ version: bigint; changedAt: Date }>(sql`
      select version, date_trunc('milliseconds', changed_at) as changed_at from catalogue_version`)
    const coverages = new Map(known)
    const [planRules, tenantPlans, tenantGroups, groupPlans, ownPrices, packages] = await Promise.all([
      loadPlanRules(tx, since),
      loadAssignments(tx, since, 'tenant_price_plans', 'tenant_id', 'plan_name'),
      loadAssignments(tx, since, 'tenant_price_groups', 'tenant_id', 'group_name'),
      loadAssignments(tx, since, 'price_group_plans', 'group_name', 'plan_name'),
      loadOwnPrices(tx, since),
      loadPackages(tx, since, coverages),
    ])
    return {
      version: current!.version,
      changedAt: current!.changedAt.getTime(),
      ...{ packages, coverages, planRules, tenantPlans, tenantGroups, groupPlans, ownPrices },
    }
  })
}

type Since = Date | '-infinity'

async function loadPlanRules(tx: Tx, since: Since): Promise<PlanRuleRow[]> {
  const rows = await tx.query<Timed<Omit<PlanRuleRow, 'rounding'> & { rounding: string }>>({
    text: `select plan_name, scope, target, currency_code, percent, basis, rounding, price, valid_from, valid_until, removed,
                  ${FIRST_AT}, updated_at
           from price_plan_rules where updated_at > $1`,
    values: [since],
  })
  return timed(rows).map((row) => ({
    ...row,
    rounding: parseRounding(row.rounding),
    validFrom: Number(row.validFrom), // a Date, or for 'infinity' a number
    validUntil: Number(row.validUntil),
  }))
}

async function loadAssignments(tx: Tx, since: Since, table: string, owner: string, target: string) {
  return timed<Assignment>(
    await tx.query({
      text: `select ${owner} as owner, ${target} as target, removed, ${FIRST_AT}, updated_at
             from ${table} where updated_at > $1`,
      values: [since],
    }),
  )
}

async function loadOwnPrices(tx: Tx, since: Since): Promise<OwnPriceRow[]> {
  return timed(
    await tx.query({
      text: `select tenant_id, package_code, price, removed, ${FIRST_AT},
                    updated_at
             from tenant_prices where updated_at > $1`,
      values: [since],
    }),
  )
}

/** SQL: an unknown time counts as the earliest possible time. */
const FIRST_AT = `coalesce(first_set_at, 'epoch') as first_at`

type Timed<Row> = Omit<Row, 'firstAt' | 'updatedAt'> & { firstAt: Date; updatedAt: Date }

function timed<Row extends { firstAt: number; updatedAt: number }>(rows: Timed<Row>[]): Row[] {
  return rows.map(
    (row) => ({ ...row, firstAt: row.firstAt.getTime(), updatedAt: row.updatedAt.getTime() }) as unknown as Row,
  )
}

/** Adds the coverages of these ids to the map. */
async function loadCoverages(tx: Tx, coverageIds: readonly string[], coverages: Map<string, Coverage>): Promise<void> {
  const missing = [...new Set(coverageIds)].filter((id) => !coverages.has(id))
  if (missing.length === 0) return
  const rows = await tx.query<{ coverageId: string; locationCodes: string[]; networks: LocationNetwork[] }>(sql`
    select coverage_id, location_codes, location_networks as networks
    from coverages where coverage_id = any (${missing})`)
  for (const { coverageId, locationCodes, networks } of rows) {
    coverages.set(coverageId, coverageOf(locationCodes, networks))
  }
}

type PackageRow = Omit<
  CataloguePackage,
  'cancelPolicy' | 'coverage' | 'firstOnSaleAt' | 'saleChangedAt' | 'createdAt' | 'updatedAt' | 'touchedAt'
> & {
  coverageId: string
  cancellable: boolean
  cancelWithinDays: number | null
  cancelFeePercent: number
  firstOnSaleAt: Date
  saleChangedAt: Date
  createdAt: Date
  updatedAt: Date
  touchedAt: Date
}

async function loadPackages(tx: Tx, since: Since, coverages: Map<string, Coverage>): Promise<CataloguePackage[]> {
  const touched = await tx.query<{ packageCode: string }>(sql`
    select package_code from packages where touched_at > ${since}`)
  const packages: CataloguePackage[] = []
  for (let start = 0; start < touched.length; start += BATCH_ROWS) {
    const codes = touched.slice(start, start + BATCH_ROWS).map((row) => row.packageCode)
    const rows = await tx.query<PackageRow>(sql`
      select package_code, slug, package_type, product_family, name, description, data_type, volume, duration,
        duration_unit, period_num_min, period_num_max, unused_valid_time,
        activation_policy, ekyc_required, coverage_id,
        speed, fup_policy, sms_status, allow_loss,
        cancellable, cancel_within_days, cancel_fee_percent,
        on_sale and not lacks_money as on_sale, ever_on_sale,
        coalesce(first_on_sale_at, 'epoch') as first_on_sale_at, sale_changed_at,
        created_at, updated_at, touched_at
      from packages where package_code = any (${codes})`)
    const [prices, routes] = await Promise.all([
      loadListPrices(tx, codes),
      loadRoutes(tx, codes),
      loadCoverages(
        tx,
        rows.map((row) => row.coverageId),
        coverages,
      ),
    ])
    for (const { coverageId, cancellable, cancelWithinDays, cancelFeePercent, ...row } of rows) {
      packages.push({
        ...row,
        cancelPolicy: { cancellable, withinDays: cancelWithinDays, feePercent: cancelFeePercent },
        coverage: coverages.get(coverageId)!,
        firstOnSaleAt: row.firstOnSaleAt.getTime(),
        saleChangedAt: row.saleChangedAt.getTime(),
        createdAt: row.createdAt.getTime(),
        updatedAt: row.updatedAt.getTime(),
        touchedAt: row.touchedAt.getTime(),
        prices: prices.get(row.packageCode) ?? [],
        routes: routes.get(row.packageCode) ?? [],
      })
    }
  }
  return packages
}

async function loadListPrices(tx: Tx, packageCodes: string[]): Promise<Map<string, ListPrice[]>> {
  const rows = await tx.query<Timed<ListPrice & { packageCode: string }>>({
    text: `select package_code, currency_code, price, retail_price,
                  removed, ${FIRST_AT}, updated_at
           from list_prices where package_code = any ($1) order by package_code, currency_code`,
    values: [packageCodes],
  })
  const prices = new Map<string, ListPrice[]>()
  for (const { packageCode, ...price } of timed<ListPrice & { packageCode: string }>(rows)) {
    const list = prices.get(packageCode) ?? []
    list.push(price)
    prices.set(packageCode, list)
  }
  return prices
}

async function loadRoutes(tx: Tx, packageCodes: string[]): Promise<Map<string, Route[]>> {
  const rows = await tx.query<Route & { packageCode: string }>(sql`
    select package_code, supplier, product_code, cost_price as cost,
           cost_currency
    from package_suppliers where package_code = any (${packageCodes}) order by package_code, position`)
  const routes = new Map<string, Route[]>()
  for (const { packageCode, ...route } of rows) routes.set(packageCode, [...(routes.get(packageCode) ?? []), route])
  return routes
}
