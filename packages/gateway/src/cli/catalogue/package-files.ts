import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { DATA_TYPES, PACKAGE_STATUSES } from '@dealer-esim/contract'
import { type Command, Option } from 'commander'
import { exportPackages, type FileFormat } from '#catalogue/files/export-packages.ts'
import { type ImportProgress, importPackages } from '#catalogue/files/import-packages.ts'
import type { PackageFilter } from '#catalogue/packages/read-packages.ts'
import type { AdminDeps } from '../kernel/cli-deps.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { getFileSize, writeOutput } from '../kernel/cli-files.ts'
import type { AdminContext } from '../kernel/context.ts'
import { progressBar } from '../kernel/progress-bar.ts'
import { type TableOptions, tableAnswers, withTableOptions } from '../kernel/table-options.ts'
import { count } from '../kernel/text-table.ts'
import { importText, unknownSupplierText } from './package-text.ts'

export function packageFileCommands(noun: Command, context: AdminContext): void {
  withTableOptions(noun.command('import <file>'))
    .description('Add and change packages from a file, all or nothing. “-” reads standard input.')
    .addOption(formatOption())
    .option('--dry-run', 'check everything and show the changes without making them')
    .addHelpText(
      'after',
      '\ndocs/catalogue.md describes the file format. `package export` writes a file to start from.',
    )
    .action((file: string, options: ImportFileOptions) =>
      context.withDeps((deps) => importFile(deps, context, file, options)),
    )
  withFilterOptions(noun.command('export [file]'))
    .description('Write packages to a file, or to standard output.')
    .addOption(formatOption())
    .action((file: string | undefined, options: FilterOptions & { format?: FileFormat }) =>
      context.withDeps((deps) => exportFile(deps, context, file, options)),
    )
}

interface ImportFileOptions extends TableOptions {
  format?: FileFormat
  dryRun?: boolean
}

function formatOption(): Option {
  return new Option('--format <format>', 'needed unless the file name ends in .csv or .json').choices(['csv', 'json'])
}

async function importFile(
  deps: AdminDeps,
  context: AdminContext,
  file: string,
  options: ImportFileOptions,
): Promise<void> {
  // The reader of CSV files also reads workbooks.
  const isWorkbook = extname(file).toLowerCase() === '.xlsx'
  const format = options.format ?? (isWorkbook ? 'csv' : formatOf(file))
  const answers = tableAnswers(options)
  const dryRun = options.dryRun === true
  const size = file === '-' ? Number.POSITIVE_INFINITY : getFileSize(file)
  const stream = file === '-' ? process.stdin : createReadStream(file)
  let bytes = 0
  const source = (async function* () {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length
      yield chunk
    }
  })()
  const bar = progressBar(context)
  let checked = 0
  const onProgress = ({ step, rows }: ImportProgress) => {
    // Checking and writing each count as half of the work. The length of a pipe is unknown.
    if (step === 'CHECKING') checked = rows
    const share = step === 'CHECKING' ? bytes / size / (dryRun ? 1 : 2) : 0.5 + rows / checked / 2
    bar.show(share, `${count(rows, 'package')} ${step === 'CHECKING' ? 'checked' : 'written'}`)
  }
  const report = await importPackages(deps, { format, source, answers, dryRun, onProgress }, context.by).finally(() =>
    bar.end(),
  )
  context.exitCode = report.errorRows > 0 ? 1 : 0
  const { changes, ...rest } = report
  context.print(importText(report, dryRun), { dryRun, ...rest, ...(dryRun ? { changes } : {}) })
  if (report.ignoredColumns.length > 0) {
    context.progress(`These columns were not read: ${report.ignoredColumns.join(', ')}.`)
  }
  for (const name of report.unknownSuppliers) context.progress(unknownSupplierText(name))
}

async function exportFile(
  deps: AdminDeps,
  context: AdminContext,
  file: string | undefined,
  options: FilterOptions & { format?: FileFormat },
): Promise<void> {
  const toOutput = file === undefined || file === '-'
  const format = options.format ?? (toOutput ? (context.json ? 'json' : 'csv') : formatOf(file))
  const packages = await writeOutput(file, (write) =>
    exportPackages(deps.db, format, packageFilter([], options), write),
  )
  if (!toOutput) context.print(`Wrote ${count(packages, 'package')} to ${file}.`, { packages, file, format })
}

function formatOf(file: string): FileFormat {
  const extension = extname(file).toLowerCase()
  if (extension === '.csv' || extension === '.json') return extension.slice(1) as FileFormat
  throw new UsageError('The file name does not end in .csv or .json. Add --format csv or --format json.')
}

export interface FilterOptions {
  country?: string
  keyword?: string
  status?: PackageFilter['status']
  dataType?: PackageFilter['dataType']
  supplier?: string
}

/** Adds the options that select packages. */
export function withFilterOptions(command: Command): Command {
  return command
    .option('--country <code>', 'only packages that work in this country, such as JP; !RG: regional, !GL: global')
    .option('--keyword <words>', 'only packages with these words in the name, code or location')
    .addOption(new Option('--status <status>', 'only packages with this status').choices(PACKAGE_STATUSES))
    .addOption(new Option('--data-type <type>', 'only packages of this type').choices(DATA_TYPES))
    .option('--supplier <name>', 'only packages that this supplier can deliver')
}

export function packageFilter(packageCodes: readonly string[], options: FilterOptions): PackageFilter {
  const { country, keyword, status, dataType, supplier } = options
  return {
    ...{ locationCode: country?.toUpperCase(), keyword, status, dataType, supplier },
    packageCodes: packageCodes.length > 0 ? packageCodes : undefined,
  }
}
