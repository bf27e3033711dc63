import { openTable, type TableAnswers, type TableRow } from '@dealer-esim/lib/table-files/read-table.ts'
import type { Source } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { type Column, columnOf, currencyFault, knownHeaders, readRow } from './csv-columns.ts'
import type { ImportRow } from './package-rows.ts'

/** A cell that lists networks all over the world takes about 20 kB. */
const RECORD_LENGTH_MAX = 1_048_576

/** Reads the packages of a table with a header line, one at a time. @throws UnreadableFile */
export async function* csvRows(
  source: Source,
  { answers, onIgnored }: { answers?: TableAnswers | undefined; onIgnored?(headers: readonly string[]): void } = {},
): AsyncGenerator<ImportRow> {
  const table = await openTable(source, {
    columns: {
      names: knownHeaders(),
      find: (_, header) => columnOf(header)?.header,
      explain: currencyFault,
      check: findMissing,
    },
    ...(answers && { answers }),
    isSecret: false,
    rowLengthMax: RECORD_LENGTH_MAX,
  })
  if (table.ignored.length > 0) onIgnored?.(table.ignored)
  const columns = table.columns.map((header) => columnOf(header)!)
  for await (const row of table.rows) yield rowOf(row, columns, table.hasDecimalComma)
}

function findMissing(columns: readonly string[]): string | undefined {
  if (columns.includes('packageCode')) return undefined
  return 'The column packageCode is missing: it identifies the package of a row.'
}

function rowOf({ row, cells, fault }: TableRow, columns: readonly Column[], hasDecimalComma: boolean): ImportRow {
  const cellOf = (column: string) => cells[columns.findIndex(({ header }) => header === column)]
  const read = readRow(cells, columns, hasDecimalComma)
  if (!fault) return { row, ...read, cellOf }
  const { column, value, reason } = fault
  const faults = [{ code: '000108' as const, field: column, reason }]
  // The package is identified, but its cells are not checked: they may be in the wrong columns.
  const input = column === '' ? {} : read.input
  return {
    row,
    input,
    faults,
    columnOf: read.columnOf,
    isUnreadable: true,
    cellOf: (name) => (name === column ? value : undefined),
  }
}
