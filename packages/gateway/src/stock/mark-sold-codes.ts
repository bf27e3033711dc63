import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { Refusal, shortList } from '@dealer-esim/lib/refusal.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { MARK_SOLD, SOLD_BEFORE_RESTORE } from './held-codes.ts'
import { type CountedCode, lowerLevels } from './stock-levels.ts'

interface SoldCodes {
  supplier: string
  /** undefined: the ICCIDs may be in any batches of the supplier. */
  batchId?: string | undefined
  iccids: readonly string[]
  evidence: string
}

interface MarkedCodes {
  /** Codes that are marked now. */
  sold: number
  /** ICCIDs that were marked before, e.g. by another dealer's file. */
  alreadySold: string[]
  /** ICCIDs that orders of the database have, e.g. `89860000000000000015 (7ZZZ…-1)`: they were sold before the backup, or since. */
  ordered: string[]
}

/**
 * Marks codes as sold between the backup and the restore, so that they are never sold again. Can be repeated as dealers answer. The
 * other codes stay as they are: held ones are held until `endHold`.
 * @throws Refusal if the stock, or the batch, has no code with one of the ICCIDs; nothing is then changed
 */
export async function markSoldCodes(
  deps: { db: Db; ids: Ids; wake: Pick<Wakeups<'stock'>, 'wake'> },
  { supplier, batchId, iccids, evidence }: SoldCodes,
  by: By,
): Promise<MarkedCodes> {
  const marked = await deps.db.tx(async (tx) => {
    const which = { supplier, batchId: batchId ?? null, iccids: [...new Set(iccids)] }
    const earlier = await findReserved(tx, which)
    const codes = await markAll(tx, which)
    for (const [id, ofBatch] of groupBy(codes, (code) => code.batchId)) {
      const { batchName } = ofBatch[0]!
      const after = { batchName, sold: ofBatch.length, onSale: 0, evidence }
      audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.release_stock', subject: supplier, after })
      tx.send({
        text: 'update stock_batches set expired = expired - $3 where supplier = $1 and batch_id = $2',
        values: [supplier, id, ofBatch.filter(({ state }) => state === 'EXPIRED').length],
      })
    }
    const onSale = codes.filter(({ state }) => state === 'FREE')
    if (onSale.length > 0) await lowerLevels(tx, deps.ids, supplier, onSale)
    const isMarked = ({ key }: Reserved) => key.startsWith(SOLD_BEFORE_RESTORE)
    return {
      sold: codes.length,
      alreadySold: earlier.filter(isMarked).map(({ iccid }) => iccid),
      ordered: earlier.filter((code) => !isMarked(code)).map(({ iccid, key }) => `${iccid} (${key})`),
    }
  })
  deps.wake.wake('stock')
  return marked
}

interface Which {
  supplier: string
  batchId: string | null
  iccids: readonly string[]
}

interface Reserved {
  iccid: string
  key: string
}

/** Codes per statement, so that each stays far below the database's limit of 30 s. */
const PER_STATEMENT = 10_000
const NAMED_MAX = 5

/** @throws Refusal that names ICCIDs that are not in the stock: the file is of another one, or has a mistake */
async function findReserved(tx: Tx, { supplier, batchId, iccids }: Which): Promise<Reserved[]> {
  const found = new Set<string>()
  const reserved: Reserved[] = []
  for (let at = 0; at < iccids.length; at += PER_STATEMENT) {
    const rows = await tx.query<{ iccid: string; key: string | null }>({
      text: `select iccid, key from stock_codes
             where supplier = $1 and iccid = any ($2::text[]) and ($3::uuid is null or batch_id = $3) order by iccid`,
      values: [supplier, iccids.slice(at, at + PER_STATEMENT), batchId],
    })
    for (const { iccid, key } of rows) {
      found.add(iccid)
      if (key !== null) reserved.push({ iccid, key })
    }
  }
  const others = iccids.filter((iccid) => !found.has(iccid))
  if (others.length === 0) return reserved
  const place = batchId === null ? `the stock of ${supplier}` : 'this batch'
  const instead = batchId === null ? 'Correct the file' : 'Correct the file, or name no batch'
  throw new Refusal(
    422,
    'NOT_IN_BATCH',
    `These ICCIDs are not in ${place}: ${shortList(others, NAMED_MAX)}. ${instead}; nothing was changed.`,
  )
}

type MarkedCode = CountedCode & { batchName: string; state: 'FREE' | 'EXPIRED' }

/** Locks the codes, as a sale does, before the counters. A code that is on sale again is taken off sale. */
async function markAll(tx: Tx, { supplier, batchId, iccids }: Which): Promise<MarkedCode[]> {
  const marked: MarkedCode[] = []
  for (let at = 0; at < iccids.length; at += PER_STATEMENT) {
    const rows = await tx.query<MarkedCode>({
      text: `with part as (
               select supplier, code_id, state from stock_codes
               where supplier = $1 and iccid = any ($2::text[]) and key is null and ($3::uuid is null or batch_id = $3)
               for no key update
             )
             update stock_codes c set ${MARK_SOLD} from part join stock_batches b on b.supplier = part.supplier
             where c.supplier = part.supplier and c.code_id = part.code_id and b.batch_id = c.batch_id
             returning c.batch_id, b.batch_name, c.product_code, part.state`,
      values: [supplier, iccids.slice(at, at + PER_STATEMENT), batchId],
    })
    marked.push(...rows)
  }
  return marked
}
