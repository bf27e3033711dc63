import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { csvText } from '@dealer-esim/lib/csv.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import type { StockSecrets } from './stock.ts'
import { getBatch } from './stock-batches.ts'

/** HELD: unsold at the backup of a restore, and perhaps sold since; nobody can buy it. The database has EXPIRED for it. */
export type CodeState = 'FREE' | 'RESERVED' | 'EXPIRED' | 'HELD'

/** A code in stock, without the data that installs it. */
export interface StockCode {
  readonly supplier: string
  readonly codeId: string
  readonly batchId: string
  readonly batchName: string
  readonly productCode: string
  readonly iccid: string
  readonly state: CodeState
  /** The key of the item it was sold to: orderNo-itemNo. */
  readonly key: string | null
  readonly importedAt: Date
  readonly reservedAt: Date | null
  /** null: never. */
  readonly expiresAt: Date | null
}

/** The minimum number of digits in a search: fewer would match most of the stock. */
const DIGITS_MIN = 8

/** Finds codes in all stocks whose ICCID begins with these digits. @throws Refusal for too few digits */
export async function findCodes(db: Pick<Db, 'query'>, typed: string, limit: number): Promise<StockCode[]> {
  const digits = typed.replaceAll(/[\s-]/g, '').replace(/f$/i, '')
  if (!/^\d{8,20}$/.test(digits)) {
    const reason = `Enter an ICCID, or at least its first ${DIGITS_MIN} digits.`
    throw new Refusal(422, 'INVALID', reason, { details: [{ field: 'iccid', reason }] })
  }
  return db.query<StockCode>({
    text: `select c.supplier, c.code_id, c.batch_id, b.batch_name, c.product_code, c.iccid, ${STATE} as state, c.key, c.imported_at,
             c.reserved_at, ${EXPIRY} as expires_at
           from stock_codes c join stock_batches b using (supplier, batch_id)
           where c.iccid like $1 order by c.iccid, c.imported_at desc limit $2`,
    values: [`${digits}%`, limit],
  })
}

const STATE = `case when c.held_at is null then c.state else 'HELD' end`
const EXPIRY = `nullif(c.expires_at, 'infinity')`

type Secrets = Pick<Cipher, 'decrypt'>

/**
 * The activation code and secrets of a code in stock, for an operator to see. Anyone who has them can install the eSIM, so
 * the audit entry is written in the same transaction. A sold code belongs to the dealer: it is shown with its eSIM.
 */
export async function revealStockCode(
  deps: { db: Db; ids: Ids; cipher: Secrets },
  { supplier, codeId }: { supplier: string; codeId: string },
  by: By,
): Promise<StockSecrets> {
  const encrypted = await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ iccid: string; state: CodeState; secrets: Buffer }>(sql`
      select iccid, state, secrets from stock_codes where supplier = ${supplier} and code_id = ${codeId}`)
    if (!row) throw notFound('code')
    if (row.state === 'RESERVED') {
      throw new Refusal(409, 'CODE_SOLD', 'This code was sold. You can see it on the page of its eSIM.')
    }
    audit(tx, deps.ids, {
      tenantId: null,
      ...by,
      action: 'stock.view_code',
      subject: supplier,
      after: { iccid: row.iccid },
    })
    return row.secrets
  })
  return JSON.parse(deps.cipher.decrypt(encrypted, supplierOwner(supplier)).toString()) as StockSecrets
}

/** The number of codes read at a time. */
const PAGE_ROWS = 1_000
const STATES = { FREE: 'AVAILABLE', RESERVED: 'SOLD', EXPIRED: 'EXPIRED', HELD: 'HELD' } as const
const HEADER = ['iccid', 'state', 'expiresAt', 'orderNo', 'soldAt'] as const
const SECRET_HEADER = ['ac', 'confirmationCode', 'pin', 'puk'] as const

/**
 * Writes the state of every code of a batch as CSV. With a cipher, the activation codes of unsold codes are included, which
 * is audited before the first one is read.
 * @throws Refusal if the batch does not exist
 */
export async function exportBatch(
  deps: { db: Db; ids: Ids },
  { supplier, batchId, secrets }: { supplier: string; batchId: string; secrets?: Secrets | undefined },
  by: By,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const batch = await getBatch(deps.db, supplier, batchId)
  if (secrets) await deps.db.tx(async (tx) => auditExport(tx, deps.ids, batch, by))
  await write(csvText([[...HEADER, ...(secrets ? SECRET_HEADER : [])]]))
  for (let after = NIL; ; ) {
    const rows = await deps.db.query<ExportedCode>({
      text: `select c.code_id, c.iccid, ${STATE} as state, ${EXPIRY} as expires_at, c.key, c.reserved_at, c.secrets
             from stock_codes c where supplier = $1 and code_id > $3 and batch_id = $2 order by code_id limit $4`,
      values: [supplier, batchId, after, PAGE_ROWS],
    })
    if (rows.length > 0) await write(csvText(rows.map((row) => cellsOf(row, supplier, secrets))))
    if (rows.length < PAGE_ROWS) return
    after = rows.at(-1)!.codeId
  }
}

const NIL = '00000000-0000-0000-0000-000000000000'

type ExportedCode = Pick<StockCode, 'codeId' | 'iccid' | 'state' | 'expiresAt' | 'key' | 'reservedAt'> & {
  secrets: Buffer
}

function auditExport(tx: Tx, ids: Ids, batch: { supplier: string; batchName: string; codes: number }, by: By): void {
  const after = { batchName: batch.batchName, codes: batch.codes }
  audit(tx, ids, { tenantId: null, ...by, action: 'stock.export_codes', subject: batch.supplier, after })
}

function cellsOf(row: ExportedCode, supplier: string, secrets: Secrets | undefined): unknown[] {
  const cells = [row.iccid, STATES[row.state], row.expiresAt, row.key?.split('-')[0] ?? null, row.reservedAt]
  if (!secrets) return cells
  if (row.state === 'RESERVED') return [...cells, null, null, null, null]
  const code = JSON.parse(secrets.decrypt(row.secrets, supplierOwner(supplier)).toString()) as StockSecrets
  return [...cells, code.ac, code.confirmationCode ?? null, code.pin ?? null, code.puk ?? null]
}
