import { createAlert } from '../../alerts/alerts.ts'
import { audit, type By } from '../../audit/audit.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { notFound } from '../../lib/refusal.ts'

/** Batches in one pass: bounds its transaction. */
const ALERTED_PER_PASS = 100

/**
 * Alerts operators once a batch that some of its unsold codes expire within its number of days. Reads the earliest expiry
 * of each batch that may still alert from an index.
 */
export async function alertExpiring(db: Db, ids: Ids, supplier: string): Promise<void> {
  await db.tx(async (tx) => {
    const batches = await tx.query<{
      batchId: string
      batchName: string
      productCode: string
      next: Date
      count: bigint
    }>({
      name: 'stock-expiring',
      text: `with due as (
               select b.supplier, b.batch_id from stock_batches b
               where supplier = $1 and alert_days is not null and not expiry_alerted and available > 0
                 and exists (select from stock_codes c
                             where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE'
                               and c.expires_at <= now() + b.alert_days * interval '1 day')
               limit ${ALERTED_PER_PASS} for no key update skip locked
             )
             update stock_batches b set expiry_alerted = true from due
             where b.supplier = due.supplier and b.batch_id = due.batch_id
             returning b.batch_id, b.batch_name, b.product_code,
               (select min(expires_at) from stock_codes c
                where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE') as next,
               (select count(*) from stock_codes c
                where c.supplier = b.supplier and c.batch_id = b.batch_id and c.state = 'FREE'
                  and c.expires_at <= now() + b.alert_days * interval '1 day') as count`,
      values: [supplier],
    })
    for (const { batchId, batchName, productCode, next, count } of batches) {
      const codes = count === 1n ? '1 unsold code' : `${count} unsold codes`
      createAlert(tx, ids, {
        tenantId: null,
        kind: 'STOCK_EXPIRING',
        audience: 'OPERATOR',
        message: `${codes} of ${productCode} in batch ${batchName} of ${supplier} expire soon, the first on ${next.toISOString().slice(0, 10)}.`,
        data: { supplier, productCode, batchId, count: Number(count) },
      })
    }
  })
}

/** Sets how many days before its codes expire a batch alerts; null: never. A batch that has alerted may do so again. */
export async function setExpiryAlert(
  deps: { db: Db; ids: Ids },
  { supplier, batchId, alertDays }: { supplier: string; batchId: string; alertDays: number | null },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ batchName: string }>({
      text: `update stock_batches set alert_days = $3, expiry_alerted = false
             where supplier = $1 and batch_id = $2 returning batch_name`,
      values: [supplier, batchId, alertDays],
    })
    if (!row) throw notFound('batch', batchId)
    const after = { batchName: row.batchName, alertDays }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'stock.alert_before', subject: supplier, after })
  })
}
