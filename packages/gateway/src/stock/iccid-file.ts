import { isIccid, stripIccidPadding } from '@dealer-esim/contract'
import { openTable, type TableAnswers } from '@dealer-esim/lib/table-files/read-table.ts'
import { headerKey } from '@dealer-esim/lib/table-files/table-columns.ts'
import { type Source, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { CsvRefused } from './stock-csv.ts'

const ROW_LENGTH_MAX = 4_096

/** Reads the column `iccid` of a table. @throws CsvRefused that names the first row with a fault */
export async function parseIccids(file: Source, answers: TableAnswers): Promise<string[]> {
  const columns = {
    names: ['iccid'],
    find: (key: string) => (key === headerKey('iccid') ? 'iccid' : undefined),
    check: (found: readonly string[]) => (found.includes('iccid') ? undefined : 'The header must have iccid.'),
  }
  const iccids: string[] = []
  try {
    const table = await openTable(file, { columns, answers, isSecret: false, rowLengthMax: ROW_LENGTH_MAX })
    for await (const { row, cells, fault } of table.rows) {
      if (fault) throw new UnreadableFile(row, fault.reason)
      const iccid = stripIccidPadding(cells[0]!.trim())
      if (!isIccid(iccid)) throw new UnreadableFile(row, `“${cells[0]!.slice(0, 40)}” is no ICCID.`)
      iccids.push(iccid)
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    throw new CsvRefused([{ row: error.row, reason: error.message }], { question: error.question })
  }
  return iccids
}
