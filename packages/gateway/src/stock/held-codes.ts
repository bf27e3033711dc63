import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { BEING_PREPARED } from '#platform/held-tenants.ts'
import { lowerLevels, raiseLevel } from './stock-levels.ts'

/*
 * After a restore, codes that were unsold at the backup are held: travellers may have them. A held code is EXPIRED, so that
 * nothing sells it, and has the time at which it was held.
 */

/** What the keys of codes begin with that were sold between a backup and its restore: no item has such a key. */
export const SOLD_BEFORE_RESTORE = 'before-restore-'

/** SQL: a code `c` counts as sold, and no order can receive it. */
export const MARK_SOLD = `state = 'RESERVED', key = '${SOLD_BEFORE_RESTORE}' || c.code_id, reserved_at = now(), held_at = null`

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
  const batches = await db.query<Batch>(sql`
    select supplier, batch_id, product_code, batch_name from stock_batches where available > 0
    order by supplier, product_code, batch_id`)
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
  const rows = await db.query<Batch & { held: bigint }>(sql`
    select b.supplier, b.batch_id, b.product_code, b.batch_name, c.held
    from (select supplier, batch_id, count(*) as held from stock_codes
          where held_at >= coalesce(${since}, '-infinity'::timestamptz) group by 1, 2) c
    join stock_batches b using (supplier, batch_id) order by b.supplier, b.batch_id`)
  return rows.map((row) => ({ ...row, held: Number(row.held) }))
}

/** Ends the hold of a batch: which of its codes that are still held were sold since the backup. */
interface HoldEnd {
  supplier: string
  batchId: string
  rest: 'SOLD' | 'UNSOLD'
  evidence: string
  /** Leaves out codes that an earlier restore holds. */
  since?: Date
}

/**
 * Ends the hold of the codes of a batch that are still held: all were sold, and are never sold again, or none was, and all are on
 * sale. Those that were marked as sold before (mark-sold-codes) stay sold.
 * @returns how many; `noneSold`: no code of the batch is marked as sold, neither now nor since `since`
 * @throws Refusal if the batch has no held codes; nothing is then changed
 */
export async function endHold(
  deps: { db: Db; ids: Ids; wake: Pick<Wakeups<'stock'>, 'wake'> },
  { supplier, batchId, rest, evidence, since }: HoldEnd,
  by: By,
): Promise<{ sold: number; onSale: number; noneSold: boolean }> {
  const ended = await deps.db.tx(async (tx) => {
    const [batch] = await tx.query<Batch>(sql`
      select supplier, batch_id, product_code, batch_name from stock_batches
      where supplier = ${supplier} and batch_id = ${batchId}`)
    if (!batch) throw notFound('batch', batchId)
    const change = rest === 'SOLD' ? MARK_SOLD : `state = 'FREE', held_at = null`
    const isHeld = `held_at >= coalesce($4, '-infinity'::timestamptz)`
    const changed = await changeAll(tx, batch, change, isHeld, [since ?? null])
    if (changed === 0) throw nothingHeld(await isUnprepared(tx), `No code of batch ${batch.batchName} is held`)
    if (rest === 'UNSOLD') raiseLevel(tx, batch, changed)
    tx.send(sql`
      update stock_batches set expired = expired - ${changed} where supplier = ${supplier} and batch_id = ${batchId}`)
    const counts = rest === 'SOLD' ? { sold: changed, onSale: 0 } : { sold: 0, onSale: changed }
    const after = { batchName: batch.batchName, ...counts, evidence }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.release_stock', subject: supplier, after })
    const marked = await tx.query({
      text: `select from stock_codes
             where supplier = $1 and batch_id = $2 and starts_with(key, '${SOLD_BEFORE_RESTORE}')
               and reserved_at >= coalesce($3, '-infinity'::timestamptz) limit 1`,
      values: [supplier, batchId, since ?? null],
    })
    return { ...counts, noneSold: marked.length === 0 }
  })
  deps.wake.wake('stock')
  return ended
}

async function isUnprepared(tx: Tx): Promise<boolean> {
  return (await tx.query({ text: BEING_PREPARED })).length > 0
}

function nothingHeld(isUnprepared: boolean, problem: string): Refusal {
  const instead = isUnprepared
    ? 'a worker holds them first. Start one (--role worker), and try again in a minute.'
    : 'recovery show lists the batches with held codes.'
  return new Refusal(409, 'NOTHING_HELD', `${problem}: ${instead}`)
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
