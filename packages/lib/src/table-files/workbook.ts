import { Worker } from 'node:worker_threads'
import type { CsvRecord } from './csv-record.ts'
import { SAVE_AS_CSV } from './file-kind.ts'
import { UnreadableFile } from './unreadable-file.ts'

/**
 * Reads the table of an Excel workbook (.xlsx), as Excel's own CSV would have it but with decimal points, and with dates as
 * 2027-01-31. A number of more than 15 digits is written as 8.98520000000501E+18, because Excel has lost its other digits.
 * Works in its own thread, bounded in memory and time, because the reader blocks its event loop.
 * @throws UnreadableFile
 */
export async function workbookRecords(file: Uint8Array): Promise<CsvRecord[]> {
  const answer = await readInThread(file)
  if ('fault' in answer) throw unreadable(answer.fault)
  return answer.rows.map((cells, index) => ({ row: index + 1, cells }))
}

/** What the thread returns: the cells of all rows, or why the workbook cannot be read. */
export type WorkbookAnswer = { rows: string[][] } | { fault: WorkbookFault }

export type WorkbookFault =
  | { reason: 'TOO_LARGE' | 'DAMAGED' | 'NO_TABLE' }
  | { reason: 'SEVERAL_TABLES'; sheets: string[] }
  /** `cell`: such as C12, or empty */
  | { reason: 'CELL_ERROR' | 'NO_RESULT'; cell: string }

/** Maximum size of a workbook in bytes. */
export const WORKBOOK_BYTES_MAX = 32 * 1_048_576

const READING_MAX_MS = 30_000
const MEMORY_MAX_MB = 256

function readInThread(file: Uint8Array): Promise<WorkbookAnswer> {
  const thread = new Worker(new URL('./workbook-worker.js', import.meta.url), {
    workerData: file,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MAX_MB },
  })
  return new Promise<WorkbookAnswer>((resolve, reject) => {
    const timer = setTimeout(() => resolve({ fault: { reason: 'TOO_LARGE' } }), READING_MAX_MS)
    thread.once('message', resolve)
    thread.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve({ fault: { reason: 'TOO_LARGE' } })
      else reject(error)
    })
    thread.once('exit', () => clearTimeout(timer))
  }).finally(() => thread.terminate())
}

function unreadable(fault: WorkbookFault): UnreadableFile {
  switch (fault.reason) {
    case 'TOO_LARGE':
      return new UnreadableFile(0, `The workbook is too large: ${SAVE_AS_CSV}`)
    case 'DAMAGED':
      return new UnreadableFile(0, `The workbook cannot be read: ${SAVE_AS_CSV}`)
    case 'NO_TABLE':
      return new UnreadableFile(0, `The workbook is empty, or its format is unknown: ${SAVE_AS_CSV}`)
    case 'SEVERAL_TABLES': {
      const names = fault.sheets.slice(0, 5).map((name) => `“${name}”`)
      return new UnreadableFile(
        0,
        `The workbook has several sheets with cells, ${names.join(', ')}: leave only the one to import.`,
      )
    }
    case 'CELL_ERROR':
      return cellFault(fault.cell, 'The cell shows an error, such as #N/A: correct it, or empty it.')
    case 'NO_RESULT':
      return cellFault(
        fault.cell,
        'The cell has a formula without its result: open the file in Excel and save it again.',
      )
  }
}

function cellFault(cell: string, reason: string): UnreadableFile {
  const [, column = '', row = '0'] = /^([A-Z]+)(\d+)$/.exec(cell) ?? []
  return new UnreadableFile(Number(row), reason, { column })
}
