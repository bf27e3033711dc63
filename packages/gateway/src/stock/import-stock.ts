import { passesLuhn } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import type { Source } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { holdImported } from './held-codes.ts'
import { leastValidityHoursOf, type StockConfig, type StockSecrets } from './stock.ts'
import { type CsvEsim, type CsvFault, CsvRefused, FAULTS_MAX, parseEsims } from './stock-csv.ts'
import { createSeenCodes, findStockedCodes, type SeenCodes } from './stock-duplicates.ts'
import { raiseLevel } from './stock-levels.ts'
import { findTakenCodes, fingerprint, refuseResolvedCodes } from './taken-codes.ts'

export interface StockImport {
  supplier: string
  productCode: string
  /** The batch's name; default: the day of the import. */
  batchName?: string | undefined
  /** The expiry of codes whose row gives no date. */
  expiresAt?: Date | undefined
  /** How many days before codes in the batch expire operators are alerted; default 14; null: never. */
  alertDays?: number | null | undefined
  file: Source
  /** A person's answers to the question asked by CsvRefused. */
  answers?: TableAnswers | undefined
  /** Called every few thousand rows with the number of rows read. */
  progress?(rows: number): void
  /** Called at the end with any warnings about the codes. */
  warn?(message: string): void
}

const ALERT_DAYS = 14

/** ICCIDs of this length include a check digit. */
const CHECKED_DIGITS = 19
const NEVER = Number.POSITIVE_INFINITY
/** Codes per statement. */
const BATCH = 1_000
const PROGRESS_EVERY = 2_000

/**
 * Imports a file of activation codes into stock as a batch: streamed, in one transaction, all or nothing. It refuses codes
 * that are in any supplier's stock, were ever sold from it, or were used by an operator to resolve an item; ICCIDs that are
 * in stock or belong to orphans; and codes that expire too soon to be sold. Codes that expired unsold in this supplier's
 * stock may be imported again.
 * Locks: the advisory lock of imports; at the end the advisory lock of resolutions with eSIMs, then the counter.
 * @throws CsvRefused with the first fifty faults; Refusal NOT_FOUND, SUPPLIER_NOT_STOCK, IMPORT_RUNNING, ESIM_TAKEN
 */
export async function importStock(
  deps: { db: Db; ids: Ids; cipher: Pick<Cipher, 'encrypt' | 'decrypt'>; linkKey: Buffer },
  input: StockImport,
  by: By,
): Promise<{ codes: number; batchId: string }> {
  const { supplier, productCode } = input
  return deps.db.tx(async (tx) => {
    const { soldUntil, day } = await checkSupplier(tx, deps.cipher, supplier)
    if ((input.expiresAt ?? NEVER) <= soldUntil) throw invalidField('expiresAt', `Use a time ${tooSoon(soldUntil)}.`)
    await lockImports(tx)
    const batch: Batch = { ...input, batchId: deps.ids.uuid(), batchName: input.batchName || day }
    addBatch(tx, batch)
    const faults: CsvFault[] = [] // the first fifty
    let faultCount = 0
    const addFaults = (found: readonly CsvFault[]) => {
      faultCount += found.length
      faults.push(...found.slice(0, FAULTS_MAX - faults.length))
    }
    const seen = createSeenCodes()
    let codes: CsvEsim[] = []
    const failedLuhn = { count: 0, example: '' }
    let rows = 0
    const flush = async () => {
      // After the first fault, nothing more is stored: the remaining rows are only checked.
      if (faults.length === 0 && codes.length > 0) addFaults(await insert(deps, tx, batch, codes, seen))
      codes = []
    }
    for await (const row of parseEsims(input.file, input)) {
      rows += 1
      if ('reason' in row) addFaults([row])
      else if ((row.esim.installBefore ?? NEVER) <= soldUntil) {
        // Otherwise the code would expire unnoticed within a minute.
        const value = row.esim.installBefore!.toISOString()
        addFaults([{ row: row.row, reason: `Use an expiry ${tooSoon(soldUntil)}.`, column: 'expiresAt', value }])
      } else {
        codes.push(row)
        if (row.esim.iccid.length === CHECKED_DIGITS && !passesLuhn(row.esim.iccid) && failedLuhn.count++ === 0) {
          failedLuhn.example = row.esim.iccid
        }
      }
      if (codes.length === BATCH) await flush()
      if (rows % PROGRESS_EVERY === 0) input.progress?.(rows)
    }
    await flush()
    if (faults.length > 0)
      throw new CsvRefused(
        faults.sort((a, b) => a.row - b.row),
        { count: faultCount },
      )
    if (rows === 0) throw new CsvRefused([{ row: 2, reason: 'The file has no codes: add a row for each code.' }])
    await refuseResolvedCodes(tx, supplier)
    raiseLevel(tx, batch, rows)
    const isHeld = await holdImported(tx, deps.ids, batch)
    tx.send(sql`update stock_batches set codes = ${rows} where supplier = ${supplier} and batch_id = ${batch.batchId}`)
    const after = { productCode, codes: rows, batchName: batch.batchName }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'stock.import', subject: supplier, after })
    for (const message of await warningsOf(tx, input, failedLuhn)) input.warn?.(message)
    if (isHeld) input.warn?.(HELD)
    return { codes: rows, batchId: batch.batchId }
  })
}

const HELD =
  'The gateway is in recovery, so the codes are held: the file may contain codes that were sold since the backup. Say which: recovery stock.'

type Batch = StockImport & { batchId: string; batchName: string }

/** The number of codes is known only at the end. */
function addBatch(tx: Tx, { supplier, batchId, productCode, batchName, alertDays }: Batch): void {
  tx.send({
    text: `insert into stock_batches (supplier, batch_id, product_code, batch_name, codes, available, alert_days, imported_at)
           values ($1, $2, $3, $4, 1, 0, $5, now())`,
    values: [supplier, batchId, productCode, batchName, alertDays === undefined ? ALERT_DAYS : alertDays],
  })
}

function tooSoon(soldUntil: Date): string {
  return `after ${soldUntil.toISOString()}, otherwise it is never sold`
}

async function warningsOf(
  tx: Tx,
  { supplier, productCode }: StockImport,
  { count, example }: { count: number; example: string },
): Promise<string[]> {
  const warnings: string[] = []
  if (count > 0) {
    const which = count === 1 ? `ICCID ${example} has a wrong` : `${count} ICCIDs, such as ${example}, have a wrong`
    warnings.push(`${which} check digit. Some suppliers do not use check digits: check with yours.`)
  }
  const sold = await tx.query(sql`
    select from package_suppliers where supplier = ${supplier} and product_code = ${productCode} limit 1`)
  if (sold.length === 0) {
    const name = `--supplier ${supplier}:${productCode}`
    warnings.push(`No package sells ${productCode} of ${supplier} yet. Assign it: package set CODE ${name}.`)
  }
  return warnings
}

const HOUR_MS = 3_600_000

/** @returns the time up to which expiring codes are no longer sold, and today's date in UTC */
async function checkSupplier(tx: Tx, cipher: Pick<Cipher, 'decrypt'>, supplier: string) {
  const [row] = await tx.query<{ type: string; config: Buffer; now: Date }>(sql`
    select type, config, now() from suppliers where supplier = ${supplier}`)
  if (row === undefined) throw notFound('supplier', supplier)
  if (row.type !== 'stock') {
    const message = `${supplier} is a ${row.type} supplier. Import codes into a supplier of type stock.`
    throw new Refusal(422, 'SUPPLIER_NOT_STOCK', message)
  }
  const config = JSON.parse(cipher.decrypt(row.config, supplierOwner(supplier)).toString()) as StockConfig
  const soldUntil = new Date(row.now.getTime() + leastValidityHoursOf(config) * HOUR_MS)
  return { soldUntil, day: row.now.toISOString().slice(0, 10) }
}

/** @returns the rows that are duplicates within the file, of stock or of sold codes */
async function insert(
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'>; linkKey: Buffer },
  tx: Tx,
  { supplier, productCode, batchId, expiresAt }: Batch,
  codes: CsvEsim[],
  seen: SeenCodes,
): Promise<CsvFault[]> {
  const owner = supplierOwner(supplier)
  const rows = codes.map(({ esim }) => ({
    codeId: deps.ids.uuid(),
    fingerprint: `\\x${fingerprint(deps.linkKey, esim.smdpAddress, esim.matchingId)}`,
    iccid: esim.iccid,
    secrets: `\\x${deps.cipher.encrypt(JSON.stringify(secretsOf(esim)), owner).toString('hex')}`,
    imsi: esim.imsi ?? null,
    msisdn: esim.msisdn ?? null,
    apn: esim.apn ?? null,
    expiresAt: esim.installBefore ?? expiresAt ?? 'infinity',
  }))
  codes.forEach(({ row }, index) => {
    seen.add(row, rows[index]!)
  })
  const taking = findTakenCodes(tx, supplier, rows)
  // A code that expired here unsold may be imported again with a later date, because nobody has seen it.
  tx.send({
    text: `with deleted as (
             delete from stock_codes where supplier = $1 and state = 'EXPIRED' and held_at is null and fingerprint = any ($2::bytea[])
             returning batch_id
           )
           update stock_batches b set expired = b.expired - d.codes
           from (select batch_id, count(*) as codes from deleted group by batch_id) d
           where b.supplier = $1 and b.batch_id = d.batch_id`,
    values: [supplier, rows.map((row) => row.fingerprint)],
  })
  const inserted = await tx.query<{ codeId: string }>({
    name: 'stock-insert',
    text: `insert into stock_codes (supplier, product_code, batch_id, imported_at, code_id, fingerprint, iccid, secrets,
             imsi, msisdn, apn, expires_at)
           select $1, $2, $4, now(), c.* from jsonb_to_recordset($3::jsonb) as c(code_id uuid, fingerprint bytea, iccid text,
             secrets bytea, imsi text, msisdn text, apn text, expires_at timestamptz)
           on conflict do nothing returning code_id`,
    values: [supplier, productCode, recordset(rows), batchId],
  })
  const taken = await taking
  if (inserted.length === rows.length && taken.size === 0) return []
  const stored = new Set(inserted.map((row) => row.codeId))
  const doubles = rows.filter(({ codeId }) => !stored.has(codeId))
  const stocked = await findStockedCodes(tx, doubles.length > 0 || taken.size > 0 ? rows : [], batchId)
  return codes.flatMap(({ row, esim }, index) => {
    const code = rows[index]!
    const isStored = stored.has(code.codeId)
    const reason = (isStored ? undefined : seen.describe(row, code)) ?? stocked.get(index) ?? taken.get(index)
    if (reason === undefined) return isStored ? [] : [{ row, column: 'iccid', value: esim.iccid, reason: IN_STOCK }]
    return [{ row, column: 'iccid', value: esim.iccid, reason }]
  })
}

const IN_STOCK = 'This code is already in stock: remove the row.'

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

/**
 * Allows only one import at a time, until the commit: if two files for two suppliers contain the same code, the second
 * import sees the codes of the first. Resolving items does not wait for an import, which may take minutes: see
 * refuseResolvedCodes.
 * @throws Refusal if another import takes longer than the lock time-out
 */
async function lockImports(tx: Tx): Promise<void> {
  try {
    await tx.query({ text: `select pg_advisory_xact_lock(${advisoryKey('stock import')})` })
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
    const message = 'Another file is being imported. Try again when that import has ended.'
    throw new Refusal(409, 'IMPORT_RUNNING', message)
  }
}

const LOCK_NOT_AVAILABLE = '55P03'
