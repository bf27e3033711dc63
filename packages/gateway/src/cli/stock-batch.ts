import type { Command } from 'commander'
import { findBatchId, listBatches, type StockBatch } from '#stock/stock-batches.ts'
import { exportBatch, findCodes, revealStockCode, type StockCode } from '#stock/stock-codes.ts'
import { setBatchExpiry, setExpiryAlert, withdrawBatch } from '#stock/stock-expiry.ts'
import { UsageError } from './kernel/cli-failure.ts'
import { writeOutput } from './kernel/cli-files.ts'
import type { AdminContext } from './kernel/context.ts'
import { parseTime, parseWholeNumber } from './kernel/parse-options.ts'
import { count, fields, table } from './kernel/text-table.ts'

const LISTED_MAX = 100
const DAYS_MAX = 365

/** A century: codes with a later expiry practically never expire. */
const WITHIN_DAYS_MAX = 36_500

/** Batches of stock and the codes in them. */
export function stockBatchCommands(stock: Command, context: AdminContext): void {
  stock
    .command('batches')
    .description(`List imports of codes, the latest first, at most ${LISTED_MAX}.`)
    .option('--supplier <name>')
    .option('--product <code>')
    .option('--expiring-within <days>', 'only batches with unsold codes that expire within this many days')
    .action((options: { supplier?: string; product?: string; expiringWithin?: string }) =>
      context.withDeps(async (deps) => {
        const days = options.expiringWithin
        const filter = {
          supplier: options.supplier,
          productCode: options.product,
          expiringOnly: days !== undefined,
          withinDays:
            days === undefined ? undefined : parseWholeNumber(days, '--expiring-within', { max: WITHIN_DAYS_MAX }),
        }
        const batches = await listBatches(deps.db, filter, { limit: LISTED_MAX })
        context.print(batchTable(batches), { batches })
      }),
    )
  changeCommands(stock, context)
  stock
    .command('find <iccid>')
    .description('Find codes by ICCID, or by at least its first 8 digits. Activation codes are not shown.')
    .action((iccid: string) =>
      context.withDeps(async (deps) => {
        const codes = await findCodes(deps.db, iccid, LISTED_MAX)
        context.print(codeTable(codes), { codes })
      }),
    )
  stock
    .command('reveal <supplier> <code-id>')
    .description('Show the activation code of a code that is not sold, by its id in `stock find --json`. Audited.')
    .action((supplier: string, codeId: string) =>
      context.withDeps(async (deps) => {
        const { ac, confirmationCode, pin, puk } = await revealStockCode(deps, { supplier, codeId }, context.by)
        const shown = fields([
          ['Activation code', ac],
          ['Confirmation code', confirmationCode ?? 'none'],
          ['PIN, PUK', [pin, puk].filter(Boolean).join(', ') || 'none'],
        ])
        context.print(shown, { ac, confirmationCode, pin, puk })
      }),
    )
  stock
    .command('export <supplier> <batch> <file>')
    .description('Write the state of each code of a batch to a CSV file; “-”: to standard output.')
    .option('--with-codes', 'with the activation codes of those that are not sold, to a file only; audited')
    .action(async (supplier: string, named: string, path: string, options: { withCodes?: boolean }) => {
      const toOutput = path === '-'
      // A file is readable by its owner only; standard output may end up in a log.
      if (toOutput && options.withCodes) throw new UsageError('With --with-codes, specify a file instead of “-”.')
      await context.withDeps(async (deps) => {
        const batchId = await findBatchId(deps.db, supplier, named)
        const batch = { supplier, batchId, secrets: options.withCodes ? deps.cipher : undefined }
        await writeOutput(path, (write) => exportBatch(deps, batch, context.by, write), { mode: 0o600 })
        if (!toOutput) context.print(`Written to ${path}.`, { supplier, batchId, path })
      })
    })
}

function changeCommands(stock: Command, context: AdminContext): void {
  stock
    .command('alert <supplier> <batch> <days>')
    .description('Set how many days before its codes expire a batch alerts; “none”: never.')
    .action(async (supplier: string, named: string, typed: string) => {
      const alertDays = parseAlertDays(typed)
      await context.withDeps(async (deps) => {
        const batchId = await findBatchId(deps.db, supplier, named)
        await setExpiryAlert(deps, { supplier, batchId, alertDays }, context.by)
        context.print('Changed.', { supplier, batchId, alertDays })
      })
    })
  stock
    .command('expiry <supplier> <batch> <time>')
    .description('Change when the unsold codes of a batch expire; “none”: never. Expired codes must be imported again.')
    .action(async (supplier: string, named: string, typed: string) => {
      const expiresAt = typed === 'none' ? null : parseTime(typed, 'The expiry')
      await context.withDeps(async (deps) => {
        const batchId = await findBatchId(deps.db, supplier, named)
        const codes = await setBatchExpiry(deps, { supplier, batchId, expiresAt }, context.by)
        context.print(`Changed for ${count(codes, 'code')}.`, { supplier, batchId, expiresAt, codes })
      })
    })
  stock
    .command('withdraw <supplier> <batch>')
    .description('Take the unsold codes of a batch out of stock, as if they had expired. An import puts them back.')
    .action((supplier: string, named: string) =>
      context.withDeps(async (deps) => {
        const batchId = await findBatchId(deps.db, supplier, named)
        const codes = await withdrawBatch(deps, { supplier, batchId }, context.by)
        context.print(`Withdrawn: ${count(codes, 'code')}.`, { supplier, batchId, codes })
      }),
    )
}

export function parseAlertDays(text: string): number | null {
  return text === 'none' ? null : parseWholeNumber(text, 'The alert', { max: DAYS_MAX })
}

function batchTable(batches: readonly StockBatch[]): string {
  return table(
    batches,
    [
      { title: 'BATCH', value: (row) => row.batchId },
      { title: 'NAME', value: (row) => row.batchName },
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'PRODUCT', value: (row) => row.productCode },
      { title: 'CODES', value: (row) => String(row.codes), right: true },
      { title: 'AVAILABLE', value: (row) => String(row.available), right: true },
      { title: 'EXPIRED', value: (row) => String(row.expired), right: true },
      { title: 'NEXT EXPIRY', value: (row) => row.nextExpiry?.toISOString().slice(0, 10) ?? '' },
      { title: 'EXPIRING', value: (row) => String(row.expiring), right: true },
    ],
    'There are no such batches.',
  )
}

function codeTable(codes: readonly StockCode[]): string {
  return table(
    codes,
    [
      { title: 'ICCID', value: (row) => row.iccid },
      { title: 'SUPPLIER', value: (row) => row.supplier },
      { title: 'PRODUCT', value: (row) => row.productCode },
      { title: 'BATCH', value: (row) => row.batchName },
      { title: 'STATE', value: (row) => row.state },
      { title: 'SOLD AS', value: (row) => row.key ?? '' },
      { title: 'EXPIRES', value: (row) => row.expiresAt?.toISOString().slice(0, 10) ?? '' },
    ],
    'No stock has such a code.',
  )
}
