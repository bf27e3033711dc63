import type { Db } from '../../lib/postgres/db.ts'
import { notFound } from '../../lib/refusal.ts'

/** An import of codes, and what became of them. */
export interface StockBatch {
  readonly supplier: string
  readonly batchId: string
  readonly batchName: string
  readonly productCode: string
  readonly importedAt: Date
  /** Imported. */
  readonly codes: number
  readonly available: number
  readonly expired: number
  /** Reserved for eSIMs; and expired ones that were imported again. */
  readonly sold: number
  /** When the next unsold code expires; null: none does. */
  readonly nextExpiry: Date | null
  /** Unsold codes that expire within the days of `filter.withinDays`. */
  readonly expiring: number
  readonly alertDays: number | null
}

export interface BatchFilter {
  readonly supplier?: string | undefined
  readonly productCode?: string | undefined
  /** Only batches with unsold codes that expire within so many days. */
  readonly expiringOnly?: boolean | undefined
  /** Default 30. */
  readonly withinDays?: number | undefined
}

const WITHIN_DAYS = 30

/** Lists batches, the latest import first; those that expire, by their next expiry. */
export async function listBatches(
  db: Pick<Db, 'query'>,
  { supplier, productCode, expiringOnly = false, withinDays = WITHIN_DAYS }: BatchFilter,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<StockBatch[]> {
  return (
    await db.query<BatchRow>({
      text: `${SELECT}
             where ($1::text is null or b.supplier = $1) and ($2::text is null or b.product_code = $2)
               and ($4::uuid is null or b.batch_id < $4)
               and (not $5 or exists (select from stock_codes c
                      where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE'
                        and c.expires_at <= now() + $3 * interval '1 day'))
             order by b.batch_id desc limit $6`,
      values: [supplier ?? null, productCode ?? null, withinDays, after ?? null, expiringOnly, limit],
    })
  ).map(batchOf)
}

/** @throws Refusal if it does not exist */
export async function getBatch(db: Pick<Db, 'query'>, supplier: string, batchId: string): Promise<StockBatch> {
  const [row] = await db.query<BatchRow>({
    text: `${SELECT} where b.supplier = $1 and b.batch_id = $2`,
    values: [supplier, batchId, WITHIN_DAYS],
  })
  if (!row) throw notFound('batch', batchId)
  return batchOf(row)
}

/** Both counts and the next expiry are read from the index of unsold codes by batch. */
const SELECT = `
  select b.supplier, b.batch_id, b.batch_name, b.product_code, b.imported_at, b.codes, b.available, b.expired, b.alert_days,
    (select min(expires_at) from stock_codes c
     where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE' and expires_at < 'infinity') as next_expiry,
    (select count(*) from stock_codes c
     where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE'
       and c.expires_at <= now() + $3 * interval '1 day') as expiring
  from stock_batches b`

type Counter = 'codes' | 'available' | 'expired' | 'expiring'
type BatchRow = Omit<StockBatch, Counter | 'sold'> & Record<Counter, bigint>

function batchOf(row: BatchRow): StockBatch {
  const [codes, available, expired] = [Number(row.codes), Number(row.available), Number(row.expired)]
  return { ...row, codes, available, expired, sold: codes - available - expired, expiring: Number(row.expiring) }
}
