import { isUuid } from '@dealer-esim/lib/ids.ts'
import { countMatching, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type IdPage, idPage } from '@dealer-esim/lib/postgres/id-page.ts'
import { notFound, Refusal, shortList } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, type Sql } from 'sql-template-tag'

/** One import of codes: how many are sold, expired or available. */
export interface StockBatch {
  readonly supplier: string
  readonly batchId: string
  readonly batchName: string
  readonly productCode: string
  readonly importedAt: Date
  /** The number of imported codes. */
  readonly codes: number
  readonly available: number
  readonly expired: number
  /** Codes reserved for eSIMs. Also includes expired codes that were imported again. */
  readonly sold: number
  /** When the next unsold code expires; null: none expires. */
  readonly nextExpiry: Date | null
  /** Unsold codes that expire within `filter.withinDays` days. */
  readonly expiring: number
  readonly alertDays: number | null
}

export interface BatchFilter {
  readonly supplier?: string | undefined
  readonly productCode?: string | undefined
  /** Only batches that have unsold codes expiring within `withinDays`. */
  readonly expiringOnly?: boolean | undefined
  /** The default is 30. */
  readonly withinDays?: number | undefined
}

const WITHIN_DAYS = 30

/** Lists batches by time of import. */
export async function listBatches(db: Pick<Db, 'query'>, filter: BatchFilter, page: IdPage): Promise<StockBatch[]> {
  const rows = await db.query<BatchRow>(sql`
    ${selectBatches(filter.withinDays)} where true ${conditions(filter)} ${idPage('b.batch_id', page)}`)
  return rows.map(batchOf)
}

export function countBatches(db: Pick<Db, 'query'>, filter: BatchFilter): Promise<RowCount> {
  return countMatching(db, sql`select from stock_batches b where true ${conditions(filter)}`)
}

function conditions({ supplier, productCode, expiringOnly = false, withinDays }: BatchFilter): Sql {
  return sql`
    ${supplier === undefined ? empty : sql`and b.supplier = ${supplier}`}
    ${productCode === undefined ? empty : sql`and b.product_code = ${productCode}`}
    ${expiringOnly ? sql`and exists (select from stock_codes c where ${isExpiring(withinDays)})` : empty}`
}

/** An SQL condition: the code `c` is an unsold code of the batch `b` and expires within this many days. */
function isExpiring(withinDays = WITHIN_DAYS): Sql {
  return sql`c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE'
             and c.expires_at <= now() + ${withinDays}::int * interval '1 day'`
}

/** @throws Refusal if it does not exist */
export async function getBatch(db: Pick<Db, 'query'>, supplier: string, batchId: string): Promise<StockBatch> {
  const [row] = await db.query<BatchRow>(
    sql`${selectBatches()} where b.supplier = ${supplier} and b.batch_id = ${batchId}`,
  )
  if (!row) throw notFound('batch', batchId)
  return batchOf(row)
}

/**
 * Finds the id of a batch that a person names by its id or by its name, e.g. `2026-11-29`.
 * @throws Refusal if the supplier has no such batch, or several with this name
 */
export async function findBatchId(db: Pick<Db, 'query'>, supplier: string, named: string): Promise<string> {
  if (isUuid(named)) return named.toLowerCase()
  const rows = await db.query<{ batchId: string }>(sql`
    select batch_id from stock_batches where supplier = ${supplier} and batch_name = ${named}
    order by batch_id limit ${NAMED_MAX + 1}`)
  const [first, ...others] = rows
  if (first === undefined) throw notFound('batch', named)
  if (others.length === 0) return first.batchId
  const ids = shortList(
    rows.map(({ batchId }) => batchId),
    NAMED_MAX,
  )
  const message = `Several batches of ${supplier} have the name ${named}: give the id of one: ${ids}.`
  throw new Refusal(409, 'AMBIGUOUS_BATCH', message)
}

const NAMED_MAX = 5

/** Both counts and the next expiry are read from the index on unsold codes by batch. */
function selectBatches(withinDays?: number): Sql {
  return sql`
    select b.supplier, b.batch_id, b.batch_name, b.product_code, b.imported_at, b.codes, b.available, b.expired, b.alert_days,
      (select min(expires_at) from stock_codes c
       where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE' and expires_at < 'infinity') as next_expiry,
      (select count(*) from stock_codes c where ${isExpiring(withinDays)}) as expiring
    from stock_batches b`
}

type Counter = 'codes' | 'available' | 'expired' | 'expiring'
type BatchRow = Omit<StockBatch, Counter | 'sold'> & Record<Counter, bigint>

function batchOf(row: BatchRow): StockBatch {
  const [codes, available, expired] = [Number(row.codes), Number(row.available), Number(row.expired)]
  return { ...row, codes, available, expired, sold: codes - available - expired, expiring: Number(row.expiring) }
}
