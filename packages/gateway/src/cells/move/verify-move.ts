import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { inCell, type Move, type MovingCell } from './cell-session.ts'
import type { Shapes } from './copy-rows.ts'
import { DIGEST, rowsOfTable, type TableShape } from './table-shape.ts'

/** Tables of RequestIDs are not compared: each cell drops its own partitions, and an id never changes. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['request_ids'])

/**
 * Compares the number and the digest of rows, table by table: the source's in the snapshot, the target's now. The target
 * has the rows of that snapshot, and only the mover writes to it.
 * @returns the tables that differ
 */
export async function compareTables(snapshot: Tx, { target, tenantId }: Move, { moved }: Shapes): Promise<string[]> {
  const compared = moved.filter(({ table }) => !NOT_COMPARED.has(table))
  const differing: string[] = []
  for (const shape of compared) {
    const [here, there] = await Promise.all([
      sumUp(snapshot, shape, tenantId),
      inCell(target, tenantId, (tx) => sumUp(tx, shape, tenantId)),
    ])
    if (here !== there) differing.push(shape.table)
  }
  return differing
}

async function sumUp(tx: Tx, shape: TableShape, tenantId: string): Promise<string> {
  const [sums] = await tx.query<{ sums: string }>({
    text: `select count(*) || ' rows, digest ' || ${DIGEST} as sums from ${rowsOfTable(shape)} where tenant_id = $1`,
    values: [tenantId],
  })
  return sums!.sums
}

/** @throws Refusal if the ledger of the tenant has a fault in the cell */
export async function requireSoundLedger({ name, db }: MovingCell, tenantId: string): Promise<void> {
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: ({ message }) => void faults.push(message) })
  if (faults.length === 0) return
  throw new Refusal(409, 'LEDGER_FAULT', `The dealer's ledger in cell ${name} has faults. The first one: ${faults[0]}`)
}

/**
 * The end of a ledger. Behind the fence there is no time to read the whole ledger, so only movements after this end are
 * checked.
 */
export interface LedgerEnd {
  version: bigint
  balance: bigint
}

/**
 * Reads the end of the ledger and checks that it follows from a verified end: no version is missing between them, and the
 * balance changed by the sum of the movements.
 * @throws Refusal
 */
export async function readLedgerEnd(cell: MovingCell, tenantId: string, from: LedgerEnd): Promise<LedgerEnd> {
  const [end] = await cell.db.query<LedgerEnd & { added: bigint; moved: bigint; latest: bigint | null }>(sql`
    select w.version, w.balance, count(t.wallet_version) as added, max(t.wallet_version) as latest,
      coalesce(sum(case when to_account = 'WALLET' then amount else -amount end), 0)::bigint as moved
    from wallets w left join transfers t on t.tenant_id = w.tenant_id and t.wallet_version > ${from.version}
    where w.tenant_id = ${tenantId} group by w.version, w.balance`)
  const { version, balance, added, moved, latest } = end!
  const isWhole =
    version === from.version + added && balance === from.balance + moved && (latest ?? version) === version
  if (isWhole) return { version, balance }
  throw new Refusal(
    409,
    'LEDGER_FAULT',
    `The end of the dealer's ledger in cell ${cell.name} does not follow from the verified part.`,
  )
}
