import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { BEING_PREPARED } from '#platform/held-tenants.ts'
import { lowerLevels, raiseLevel } from './stock-levels.ts'

/*
 * After a restore, codes that were unsold at the backup are held: travellers may have them. A held code is EXPIRED, so that
 * nothing sells it, and has the time at which it was held.
 */

/** Codes per statement, so that each stays far below the database's limit of 30 s. */
const PER_STATEMENT = 10_000

interface Batch {
  supplier: string
  batchId: string
  productCode: string
  batchName: string
}

export interface HeldBatch extends Batch {
  held: number
}

/**
 * Holds all unsold codes while a recovery is prepared, each batch in a transaction with its counters. Repeating it changes
 * nothing.
 */
export async function holdUnsoldCodes({ db, ids }: { db: Db; ids: Ids }): Promise<void> {
  const batches = await db.query<Batch>({
    text: `select supplier, batch_id, product_code, batch_name from stock_batches where available > 0
           order by supplier, product_code, batch_id`,
  })
  for (const batch of batches) {
    await db.tx(async (tx) => {
      if ((await tx.query({ text: BEING_PREPARED })).length > 0) await holdBatch(tx, ids, batch)
    })
  }
}

/**
 * Holds the codes of a batch that is being imported during a recovery: the same file may have been imported after the backup,
 * and its codes sold. Otherwise changes nothing.
 * @returns true if they are held: they are not on sale
 */
export async function holdImported(tx: Tx, ids: Ids, batch: Batch): Promise<boolean> {
  const recovering = await tx.query({ text: 'select from restores where recovering for share' })
  if (recovering.length === 0) return false
  await holdBatch(tx, ids, batch)
  return true
}

async function holdBatch(tx: Tx, ids: Ids, batch: Batch): Promise<void> {
  const held = await changeAll(tx, batch, `state = 'EXPIRED', held_at = now()`, `state = 'FREE'`)
  if (held > 0) await lowerLevels(tx, ids, batch.supplier, Array<Batch>(held).fill(batch), 'expired')
}

/**
 * The batches with held codes. Reads all codes that are not sold.
 * @param since leaves out codes that an earlier restore holds
 */
export async function listHeldBatches(db: Pick<Db, 'query'>, since: Date | null = null): Promise<HeldBatch[]> {
  const rows = await db.query<Batch & { held: bigint }>({
    text: `select b.supplier, b.batch_id, b.product_code, b.batch_name, c.held
           from (select supplier, batch_id, count(*) as held from stock_codes
                 where held_at >= coalesce($1, '-infinity'::timestamptz) group by 1, 2) c
           join stock_batches b using (supplier, batch_id) order by b.supplier, b.batch_id`,
    values: [since],
  })
  return rows.map((row) => ({ ...row, held: Number(row.held) }))
}

/** Which codes of a batch have left it since the backup. */
export type SoldSince = { kind: 'ALL' } | { kind: 'NONE' } | { kind: 'ICCIDS'; iccids: readonly string[] }

interface HeldRelease {
  supplier: string
  batchId: string
  sold: SoldSince
  evidence: string
  /** Leaves out codes that an earlier restore holds. */
  since?: Date
}

/**
 * Ends the hold of a batch: what was sold is never sold again, the rest is on sale.
 * @throws Refusal if the batch has no held codes, or an ICCID is not in it; nothing is then changed
 */
export async function releaseHeldCodes(
  deps: { db: Db; ids: Ids; wake: Pick<Wakeups<'stock'>, 'wake'> },
  { supplier, batchId, sold, evidence, since }: HeldRelease,
  by: By,
): Promise<{ sold: number; onSale: number }> {
  const released = await deps.db.tx(async (tx) => {
    const [batch] = await tx.query<Batch>({
      text: 'select supplier, batch_id, product_code, batch_name from stock_batches where supplier = $1 and batch_id = $2',
      values: [supplier, batchId],
    })
    if (!batch) throw notFound('batch', batchId)
    if (sold.kind === 'ICCIDS') await requireInBatch(tx, batch, sold.iccids)
    const isHeld = `held_at >= coalesce($4, '-infinity'::timestamptz)`
    const isSold = { ALL: 'true', NONE: 'false', ICCIDS: 'iccid = any ($5::text[])' }[sold.kind]
    const iccids = sold.kind === 'ICCIDS' ? [sold.iccids] : []
    // A key that no item has: the code counts as sold, and no order can receive it.
    const soldCodes = await changeAll(
      tx,
      batch,
      `state = 'RESERVED', key = 'before-restore-' || c.code_id, held_at = null`,
      `${isHeld} and ${isSold}`,
      [since ?? null, ...iccids],
    )
    const onSale = await changeAll(tx, batch, `state = 'FREE', held_at = null`, isHeld, [since ?? null])
    if (soldCodes + onSale === 0) {
      throw new Refusal(
        409,
        'NOTHING_HELD',
        `No code of batch ${batch.batchName} is held: recovery show lists the batches.`,
      )
    }
    if (onSale > 0) raiseLevel(tx, batch, onSale)
    tx.send({
      text: 'update stock_batches set expired = expired - $3 where supplier = $1 and batch_id = $2',
      values: [supplier, batchId, soldCodes + onSale],
    })
    const after = { batchName: batch.batchName, sold: soldCodes, onSale, evidence }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.release_stock', subject: supplier, after })
    return { sold: soldCodes, onSale }
  })
  deps.wake.wake('stock')
  return released
}

/** @throws Refusal that names ICCIDs that are not in the batch: the file is of another one, or has a mistake */
async function requireInBatch(
  tx: Tx,
  { supplier, batchId, batchName }: Batch,
  iccids: readonly string[],
): Promise<void> {
  const others = await tx.query<{ iccid: string }>({
    text: `select iccid from unnest($3::text[]) as iccid where not exists (
             select from stock_codes c where c.supplier = $1 and c.batch_id = $2 and c.iccid = iccid.iccid) limit 5`,
    values: [supplier, batchId, iccids],
  })
  if (others.length === 0) return
  const named = others.map(({ iccid }) => iccid).join(', ')
  throw new Refusal(
    422,
    'NOT_IN_BATCH',
    `These ICCIDs are not in batch ${batchName}: ${named}. Correct the file; nothing was changed.`,
  )
}

async function changeAll(
  tx: Tx,
  { supplier, batchId }: Batch,
  change: string,
  condition: string,
  values: readonly unknown[] = [],
): Promise<number> {
  for (let all = 0; ; ) {
    const [changed] = await tx.query<{ count: bigint }>({
      text: `with part as (
               select supplier, code_id from stock_codes
               where supplier = $1 and batch_id = $2 and ${condition} limit $3 for no key update
             ), changed as (
               update stock_codes c set ${change} from part
               where c.supplier = part.supplier and c.code_id = part.code_id returning 1
             )
             select count(*) from changed`,
      values: [supplier, batchId, PER_STATEMENT, ...values],
    })
    const count = Number(changed!.count)
    all += count
    if (count === 0) return all
  }
}
