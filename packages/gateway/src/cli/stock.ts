import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import { importStock, type StockImport } from '#stock/import-stock.ts'
import { listStock, setLowStock } from '#stock/stock-levels.ts'
import { getFileSize } from './kernel/cli-files.ts'
import type { AdminContext } from './kernel/context.ts'
import { parseTime, parseWholeNumber } from './kernel/parse-options.ts'
import { progressBar } from './kernel/progress-bar.ts'
import { type TableOptions, tableAnswers, withTableOptions } from './kernel/table-options.ts'
import { count, table } from './kernel/text-table.ts'
import { parseAlertDays, stockBatchCommands } from './stock-batch.ts'

interface ImportOptions extends TableOptions {
  supplier: string
  product: string
  name?: string
  expires?: Date
  alertDays?: string
}

/** The file is read ahead of its rows, so the bar must not be full before the last row is imported. */
const READ_MAX = 0.99
/** With fewer codes, the import is too fast for a progress bar. */
const PROGRESS_MIN = 2_000

export function stockCommands(stock: Command, context: AdminContext): void {
  stockBatchCommands(stock, context)
  withTableOptions(stock.command('import <file>'))
    .description('Import activation codes from a CSV file, all or nothing.')
    .requiredOption('--supplier <name>', 'a supplier of type stock')
    .requiredOption('--product <code>', "the supplier's product code, as packages name it")
    .option('--name <text>', 'of the batch (default: the day)')
    .option('--expires <time>', 'when the codes expire whose row gives no expiry', (text) =>
      parseTime(text, '--expires'),
    )
    .option('--alert-days <n>', 'days before codes expire at which to alert; none: never (default: 14)')
    .addHelpText(
      'after',
      '\nHeader: iccid,ac or iccid,smdpAddress,matchingId, then any of\nconfirmationCode,pin,puk,imsi,msisdn,apn,expiresAt. docs/csv-files.md describes the file.',
    )
    .action(async (path: string, options: ImportOptions) => {
      const alertDays = options.alertDays === undefined ? undefined : parseAlertDays(options.alertDays)
      const answers = tableAnswers(options)
      const size = getFileSize(path)
      await context.withDeps(async (deps) => {
        const file = createReadStream(path)
        const bar = progressBar(context)
        const warnings: string[] = []
        try {
          const input: StockImport = {
            supplier: options.supplier,
            productCode: options.product,
            batchName: options.name,
            expiresAt: options.expires,
            alertDays,
            file,
            answers,
            progress: (rows) => bar.show(Math.min(file.bytesRead / size, READ_MAX), `${rows} codes`),
            warn: (message) => warnings.push(message),
          }
          const { codes, batchId } = await importStock(deps, input, context.by)
          if (codes >= PROGRESS_MIN) bar.show(1, `${codes} codes`)
          bar.end()
          const json = { supplier: options.supplier, productCode: options.product, batchId, codes, warnings }
          context.print(`Imported ${count(codes, 'code')}.`, json)
          for (const warning of warnings) context.progress(warning)
        } finally {
          bar.end()
          file.destroy()
        }
      })
    })
  stock
    .command('list')
    .description('Show how many codes of each product are left, 0 for those that only packages name.')
    .action(() =>
      context.withDeps(async (deps) => {
        const rows = await listStock(deps.db)
        const human = table(
          rows,
          [
            { title: 'SUPPLIER', value: (row) => row.supplier },
            { title: 'PRODUCT', value: (row) => row.productCode },
            { title: 'AVAILABLE', value: (row) => String(row.available), right: true },
            { title: 'LOW AT', value: (row) => (row.lowAt === null ? '' : String(row.lowAt)), right: true },
            { title: 'SOLD AS', value: (row) => row.packageCodes.join(', ') },
          ],
          'There is no stock. Import codes with: stock import --supplier NAME --product CODE FILE',
        )
        context.print(human, { stockList: rows })
      }),
    )
  stock
    .command('low <count>')
    .description('Alert when fewer codes of a product are left than this; “none”: never.')
    .requiredOption('--supplier <name>')
    .requiredOption('--product <code>')
    .action(async (typed: string, options: { supplier: string; product: string }) => {
      const lowAt = typed === 'none' ? null : parseWholeNumber(typed, 'stock low', { min: 0 })
      await context.withDeps(async (deps) => {
        const { supplier, product: productCode } = options
        await setLowStock(deps, { supplier, productCode, lowAt }, context.by)
        context.print('Changed.', { supplier, productCode, lowAt })
      })
    })
}
