import type { Readable } from 'node:stream'
import { passesLuhn } from '@dealer-esim/contract'
import { audit, type By } from '../../audit/audit.ts'
import type { Cipher } from '../../lib/crypto.ts'
import type { Ids } from '../../lib/ids.ts'
import { recordset } from '../../lib/postgres/columns.ts'
import type { Db, Tx } from '../../lib/postgres/db.ts'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { supplierOwner } from '../supplier.ts'
import { type CsvEsim, type CsvFault, CsvRefused, FAULTS_MAX, parseEsims } from './csv.ts'
import { raiseLevel } from './levels.ts'
import { leastValidityHoursOf, type StockConfig, type StockSecrets } from './stock.ts'
import { findTakenCodes, fingerprint, lockImports, refuseResolvedCodes } from './taken-codes.ts'

export interface StockImport {
  supplier: string
  productCode: string
  file: Readable
  /** Called every few thousand rows with how many were read. */
  progress?(rows: number): void
  /** Called at the end with what somebody should know of the codes: sentences. */
  warn?(message: string): void
}

/** An ICCID of so many has its check digit. */
const CHECKED_DIGITS = 19
const NEVER = Number.POSITIVE_INFINITY
/** Codes of one statement. */
const BATCH = 1_000
const PROGRESS_EVERY = 2_000

/**
 * Takes a file of activation codes into stock: streamed, in one transaction, all or nothing. Refused are codes that
 * are in any supplier's stock or were ever sold from it, or were delivered by settling; ICCIDs that are in stock, or of
 * orphans; and what is too near its end to be sold. What expired unsold in this supplier's stock is taken again.
 *
 * Locks: an advisory one of imports; at the end that of settling with eSIMs, then the counter.
 * @returns how many there were.
 * @throws CsvRefused that names the lines at fault, the first fifty; Refusal NOT_FOUND, SUPPLIER_NOT_STOCK,
 *   IMPORT_RUNNING, ESIM_TAKEN
 */
export async function importStock(
  deps: { db: Db; ids: Ids; cipher: Pick<Cipher, 'encrypt' | 'decrypt'>; linkKey: Buffer },
  wanted: StockImport,
  by: By,
): Promise<number> {
  const { supplier, productCode } = wanted
  return deps.db.tx(async (tx) => {
    const soldUntil = await checkSupplier(tx, deps.cipher, supplier)
    await lockImports(tx)
    const faults: CsvFault[] = []
    let batch: CsvEsim[] = []
    const odd = { count: 0, example: '' }
    let rows = 0
    const flush = async () => {
      // After the first fault nothing will be kept: the rest is read for its faults alone.
      if (faults.length === 0 && batch.length > 0) faults.push(...(await insert(deps, tx, wanted, batch)))
      batch = []
    }
    for await (const row of parseEsims(wanted.file)) {
      rows += 1
      if ('reason' in row) faults.push(row)
      else if ((row.esim.installBefore ?? NEVER) <= soldUntil) {
        // It would be taken out of stock within a minute, and nobody told.
        const reason = `expiresAt must be after ${soldUntil.toISOString()}, or it is never sold`
        faults.push({ line: row.line, reason })
      } else {
        batch.push(row)
        if (row.esim.iccid.length === CHECKED_DIGITS && !passesLuhn(row.esim.iccid) && odd.count++ === 0) {
          odd.example = row.esim.iccid
        }
      }
      if (faults.length >= FAULTS_MAX) break
      if (batch.length === BATCH) await flush()
      if (rows % PROGRESS_EVERY === 0) wanted.progress?.(rows)
    }
    await flush()
    if (faults.length > 0) throw new CsvRefused(faults.sort((a, b) => a.line - b.line))
    if (rows === 0) throw new CsvRefused([{ line: 2, reason: 'the file has no codes' }])
    await refuseResolvedCodes(tx, supplier)
    raiseLevel(tx, supplier, productCode, rows)
    const after = { productCode, codes: rows }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'stock.import', subject: supplier, after })
    for (const message of await warningsOf(tx, wanted, odd)) wanted.warn?.(message)
    return rows
  })
}

async function warningsOf(
  tx: Tx,
  { supplier, productCode }: StockImport,
  odd: { count: number; example: string },
): Promise<string[]> {
  const warnings: string[] = []
  if (odd.count > 0) {
    const which =
      odd.count === 1 ? `The ICCID ${odd.example} fails its` : `${odd.count} ICCIDs, such as ${odd.example}, fail their`
    warnings.push(`${which} check digit. Some suppliers count none; ask, if yours does.`)
  }
  const sold = await tx.query({
    text: 'select from package_suppliers where supplier = $1 and product_code = $2 limit 1',
    values: [supplier, productCode],
  })
  if (sold.length === 0) {
    const name = `--supplier ${supplier}:${productCode}`
    warnings.push(`No package sells ${productCode} of ${supplier} yet: name it by package set CODE ${name}.`)
  }
  return warnings
}

const HOUR_MS = 3_600_000

/** @returns what expires until then is not sold any more. */
async function checkSupplier(tx: Tx, cipher: Pick<Cipher, 'decrypt'>, supplier: string): Promise<Date> {
  const [row] = await tx.query<{ type: string; config: Buffer; now: Date }>({
    text: 'select type, config, now() from suppliers where supplier = $1',
    values: [supplier],
  })
  if (row === undefined) throw notFound('supplier', supplier)
  if (row.type !== 'stock') {
    const message = `${supplier} is a ${row.type} supplier. Codes go into a supplier of type stock.`
    throw new Refusal(422, 'SUPPLIER_NOT_STOCK', message)
  }
  const config = JSON.parse(cipher.decrypt(row.config, supplierOwner(supplier)).toString()) as StockConfig
  return new Date(row.now.getTime() + leastValidityHoursOf(config) * HOUR_MS)
}

/** @returns the rows that are duplicates: of this file, of what was imported before, or of what is sold. */
async function insert(
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'>; linkKey: Buffer },
  tx: Tx,
  { supplier, productCode }: StockImport,
  batch: CsvEsim[],
): Promise<CsvFault[]> {
  const owner = supplierOwner(supplier)
  const rows = batch.map(({ esim }) => ({
    codeId: deps.ids.uuid(),
    fingerprint: `\\x${fingerprint(deps.linkKey, esim.smdpAddress, esim.matchingId)}`,
    iccid: esim.iccid,
    secrets: `\\x${deps.cipher.encrypt(JSON.stringify(secretsOf(esim)), owner).toString('hex')}`,
    imsi: esim.imsi ?? null,
    msisdn: esim.msisdn ?? null,
    apn: esim.apn ?? null,
    expiresAt: esim.installBefore ?? 'infinity',
  }))
  const taking = findTakenCodes(tx, supplier, rows)
  // What expired here unsold may come again with a later date: nobody has seen it.
  tx.send({
    text: `delete from stock_codes where supplier = $1 and state = 'EXPIRED' and fingerprint = any ($2::bytea[])`,
    values: [supplier, rows.map((row) => row.fingerprint)],
  })
  const inserted = await tx.query<{ codeId: string }>({
    name: 'stock-insert',
    text: `insert into stock_codes (supplier, product_code, imported_at, code_id, fingerprint, iccid, secrets, imsi,
             msisdn, apn, expires_at)
           select $1, $2, now(), c.* from jsonb_to_recordset($3::jsonb) as c(code_id uuid, fingerprint bytea, iccid text,
             secrets bytea, imsi text, msisdn text, apn text, expires_at timestamptz)
           on conflict do nothing returning code_id`,
    values: [supplier, productCode, recordset(rows)],
  })
  const taken = await taking
  if (inserted.length === rows.length && taken.size === 0) return []
  const kept = new Set(inserted.map((row) => row.codeId))
  const twice = 'this code or ICCID is in stock already, or twice in the file'
  return batch.flatMap(({ line }, index) => {
    const reason = taken.get(index) ?? (kept.has(rows[index]!.codeId) ? undefined : twice)
    return reason === undefined ? [] : [{ line, reason }]
  })
}

function secretsOf(esim: CsvEsim['esim']): StockSecrets {
  const { smdpAddress, matchingId, ac, confirmationCode, pin, puk } = esim
  return {
    smdpAddress,
    matchingId,
    ac,
    ...(confirmationCode === undefined ? {} : { confirmationCode }),
    ...(pin === undefined ? {} : { pin }),
    ...(puk === undefined ? {} : { puk }),
  }
}
