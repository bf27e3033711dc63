import { Readable } from 'node:stream'
import { findFormatFault } from '@dealer-esim/lib/csv.ts'
import { parse } from 'csv-parse'
import { columnOf, readRow } from './csv-columns.ts'
import { type ImportRow, type Source, UnreadableFile } from './package-rows.ts'

/** A cell with the networks of the whole world has about 20 kB. */
const RECORD_LENGTH_MAX = 1_048_576

/** Reads the packages of a CSV file with a header line, one at a time. */
export async function* csvRows(source: Source): AsyncGenerator<ImportRow> {
  const records = Readable.from(source, { objectMode: false }).pipe(
    parse({ bom: true, relax_column_count: true, max_record_size: RECORD_LENGTH_MAX }),
  )
  let columns: ReturnType<typeof headerOf> | undefined
  let row = 0
  try {
    for await (const cells of records as AsyncIterable<string[]>) {
      row++
      if (cells.length === 1 && cells[0] === '') continue
      if (!columns) columns = headerOf(cells)
      else yield rowOf(row, cells, columns)
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_')) {
      // The parser loses rows that it had read but not yet yielded, so only its own count gives the row.
      const read = 'records' in error ? Number(error.records) : row
      throw new UnreadableFile(read + 1, `The CSV is invalid from here on: ${error.message}.`)
    }
    throw error
  }
  if (!columns) throw new UnreadableFile(0, 'The file is empty: it must begin with a line of column names.')
}

function headerOf(cells: string[]) {
  const form = findFormatFault(cells)
  if (form !== undefined) throw new UnreadableFile(0, form)
  const columns = cells.map((cell) => {
    const column = columnOf(cell.trim())
    if (!column) throw new UnreadableFile(1, `Unknown column "${cell.slice(0, 64)}": correct its name or remove it.`)
    return column
  })
  const repeated = columns.find((column, i) => columns.findIndex(({ header }) => header === column.header) < i)
  if (repeated) throw new UnreadableFile(1, `The column ${repeated.header} is repeated: remove one.`)
  if (!columns.some(({ header }) => header === 'packageCode')) {
    throw new UnreadableFile(1, 'The column packageCode is missing: it identifies the package of a row.')
  }
  return columns
}

function rowOf(row: number, cells: string[], columns: ReturnType<typeof headerOf>): ImportRow {
  if (cells.length === columns.length) {
    const cellOf = (column: string) => cells[columns.findIndex(({ header }) => header === column)]
    return { row, ...readRow(cells, columns), cellOf }
  }
  const reason = `It has ${cells.length} cells, the header line ${columns.length}: check for a missing quote or comma.`
  return { row, input: {}, faults: [{ code: '000108', field: '', reason }], columnOf: (field) => field }
}
