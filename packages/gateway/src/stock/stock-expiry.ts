import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { lowerLevels } from './stock-levels.ts'

/** The number of batches that one pass raises alerts about, to keep its transaction short. */
const ALERTED_PER_PASS = 100

/**
 * Alerts operators, once per batch, when unsold codes of the batch expire within its number of days. Reads from an index
 * the earliest expiry of each batch that may still alert.
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
        kind: 'STOCK_EXPIRING',
        message: `${codes} of ${productCode} in batch ${batchName} of ${supplier} expire soon, the first on ${next.toISOString().slice(0, 10)}.`,
        data: { supplier, productCode, batchId, count: Number(count) },
      })
    }
  })
}

/**
 * Sets how many days before its codes expire a batch raises an alert; null: never. A batch that has already raised one may
 * do so again.
 */
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

/** Codes per statement, so that each stays far below the database's limit of 30 s, even for a batch of a million codes. */
const CHANGED_PER_STATEMENT = 10_000

/**
 * Changes when the unsold codes of a batch expire; null: never. Decides again whether the batch raises an alert, and raises
 * it immediately if it is due. Sold codes keep their date, and expired ones stay expired until they are imported again.
 * Locks: the codes, after waiting for orders that are reserving them, then the batch, as a reservation does.
 * @returns how many codes were changed
 * @throws Refusal if the batch does not exist or has no unsold codes, or if the time is in the past
 */
export async function setBatchExpiry(
  deps: { db: Db; ids: Ids },
  { supplier, batchId, expiresAt }: { supplier: string; batchId: string; expiresAt: Date | null },
  by: By,
): Promise<number> {
  const codes = await deps.db.tx(async (tx) => {
    const [batch] = await tx.query<{ batchName: string; before: Date | null; hasPassed: boolean }>({
      text: `select batch_name, $3::timestamptz <= now() as has_passed,
               (select min(expires_at) from stock_codes c where c.supplier = b.supplier and c.batch_id = b.batch_id
                  and c.state = 'FREE' and expires_at < 'infinity') as before
             from stock_batches b where supplier = $1 and batch_id = $2`,
      values: [supplier, batchId, expiresAt],
    })
    if (!batch) throw notFound('batch', batchId)
    if (batch.hasPassed) throw invalidField('expiresAt', 'This time has passed: use a later one.')
    const count = await changeCodes(tx, supplier, batchId, expiresAt)
    const [left] = await tx.query<{ available: bigint }>(sql`
      update stock_batches set expiry_alerted = false
      where supplier = ${supplier} and batch_id = ${batchId} returning available`)
    if (left!.available === 0n) {
      const message =
        'The batch has no unsold codes left. To sell codes that have expired, import them again with a later date.'
      throw new Refusal(409, 'BATCH_SOLD_OUT', message)
    }
    const before = { nextExpiry: batch.before }
    const after = { batchName: batch.batchName, expiresAt, codes: count }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'stock.set_expiry', subject: supplier, before, after })
    return count
  })
  await alertExpiring(deps.db, deps.ids, supplier)
  return codes
}

async function changeCodes(tx: Tx, supplier: string, batchId: string, expiresAt: Date | null): Promise<number> {
  for (let all = 0; ; ) {
    const [changed] = await tx.query<{ count: bigint }>({
      text: `with part as (
               select supplier, code_id from stock_codes
               where supplier = $1 and batch_id = $2 and state = 'FREE' and expires_at <> $3
               limit $4 for no key update
             ), changed as (
               update stock_codes c set expires_at = $3 from part
               where c.supplier = part.supplier and c.code_id = part.code_id returning 1
             )
             select count(*) from changed`,
      values: [supplier, batchId, expiresAt ?? 'infinity', CHANGED_PER_STATEMENT],
    })
    const count = Number(changed!.count)
    all += count
    if (count === 0) return all
  }
}

/**
 * Takes the unsold codes of a batch out of stock, as if they had expired, in one transaction with the counters. An import
 * of the same codes for the same supplier puts them back. Repeating it changes nothing. Locks: as `setBatchExpiry`, and the
 * counter of the product before the batch.
 * @returns the number of withdrawn codes @throws Refusal if the batch does not exist
 */
export function withdrawBatch(
  { db, ids }: { db: Db; ids: Ids },
  { supplier, batchId }: { supplier: string; batchId: string },
  by: By,
): Promise<number> {
  return db.tx(async (tx) => {
    const [batch] = await tx.query<{ batchName: string; productCode: string }>(sql`
      select batch_name, product_code from stock_batches where supplier = ${supplier} and batch_id = ${batchId}`)
    if (!batch) throw notFound('batch', batchId)
    const { batchName, productCode } = batch
    const codes = await withdrawCodes(tx, supplier, batchId)
    if (codes === 0) return 0
    audit(tx, ids, { tenantId: null, ...by, action: 'stock.withdraw', subject: supplier, after: { batchName, codes } })
    await lowerLevels(
      tx,
      ids,
      supplier,
      Array<{ productCode: string; batchId: string }>(codes).fill({ productCode, batchId }),
      'expired',
    )
    return codes
  })
}

async function withdrawCodes(tx: Tx, supplier: string, batchId: string): Promise<number> {
  for (let all = 0; ; ) {
    const [withdrawn] = await tx.query<{ count: bigint }>({
      text: `with part as (
               select supplier, code_id from stock_codes
               where supplier = $1 and batch_id = $2 and state = 'FREE'
               limit $3 for no key update
             ), withdrawn as (
               update stock_codes c set state = 'EXPIRED' from part
               where c.supplier = part.supplier and c.code_id = part.code_id returning 1
             )
             select count(*) from withdrawn`,
      values: [supplier, batchId, CHANGED_PER_STATEMENT],
    })
    const count = Number(withdrawn!.count)
    all += count
    if (count === 0) return all
  }
}
