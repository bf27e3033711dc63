// @ts-check
// Reads an Excel workbook in a thread of its own: see workbook.ts. JavaScript, because Node 20 starts no thread on TypeScript.

import { parentPort, workerData } from 'node:worker_threads'
import { strFromU8, unzipSync } from 'fflate'
import readWorkbook from 'read-excel-file/universal'

/** A price list of 20 000 packages unpacks to some 10 MB. */
const UNPACKED_BYTES_MAX = 48 * 1_048_576

const CELLS_MAX = 2_000_000

/** Excel computes with 15 digits. */
const DIGITS_MAX = 15

/** @import { WorkbookAnswer, WorkbookFault } from './workbook.ts' */

parentPort?.postMessage(await answer(workerData))

/** @param {Uint8Array} file @returns {Promise<WorkbookAnswer>} */
async function answer(file) {
  try {
    const parts = unpackSheets(file)
    if (parts === 'TOO_LARGE') return { fault: { reason: parts } }
    for (const sheet of parts) {
      const fault = findFault(sheet)
      if (fault) return { fault }
    }
    const bytes = new Uint8Array(file).buffer
    const sheets = await readWorkbook(bytes, { trim: false, parseNumber: (text) => ({ number: text }) })
    const tables = sheets.filter(({ data }) => data.length > 0)
    if (tables.length > 1) return { fault: { reason: 'SEVERAL_TABLES', sheets: tables.map(({ sheet }) => sheet) } }
    if (tables[0] === undefined) return { fault: { reason: 'NO_TABLE' } }
    return { rows: tables[0].data.map((row) => row.map(textOf)) }
  } catch {
    return { fault: { reason: 'DAMAGED' } }
  }
}

/** @param {Uint8Array} file @returns {string[] | 'TOO_LARGE'} the XML of the sheets */
function unpackSheets(file) {
  let unpacked = 0
  unzipSync(file, {
    filter: ({ originalSize }) => {
      unpacked += originalSize
      return false
    },
  })
  if (unpacked > UNPACKED_BYTES_MAX) return 'TOO_LARGE'
  const sheets = unzipSync(file, { filter: ({ name }) => /^xl\/worksheets\/[^/]+\.xml$/.test(name) })
  return Object.values(sheets).map((bytes) => strFromU8(bytes))
}

/**
 * Finds what the reader does not refuse: a formula without a result or with an error such as #N/A, which it takes for an empty
 * cell; and a cell far from the others, before which it puts empty ones: XFD1048576 makes 17 billion of them.
 * @param {string} sheet @returns {WorkbookFault | undefined}
 */
function findFault(sheet) {
  let rows = 0
  let columns = 0
  for (const text of sheet.split(/<(?:\w+:)?c\s/).slice(1)) {
    const attributes = text.slice(0, text.indexOf('>'))
    const [cell = '', column = '', row = '0'] = /\br="([A-Z]{1,3})(\d{1,7})"/.exec(attributes) ?? []
    const place = cell.slice('r="'.length, -1)
    if (/\bt="e"/.test(attributes)) return { reason: 'CELL_ERROR', cell: place }
    const hasValue = /<(?:\w+:)?(?:v|is)[\s>/]/.test(text)
    if (!hasValue && /<(?:\w+:)?f[\s>/]/.test(text)) return { reason: 'NO_RESULT', cell: place }
    if (!hasValue) continue
    rows = Math.max(rows, Number(row))
    columns = Math.max(columns, columnNumber(column))
    if (rows * columns > CELLS_MAX) return { reason: 'TOO_LARGE' }
  }
  return undefined
}

/** @param {string} letters such as AB, which is 28 @returns {number} */
function columnNumber(letters) {
  return [...letters].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0)
}

/** @param {unknown} value @returns {string} as Excel's own CSV has it, with dates as 2027-01-31 */
function textOf(value) {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (value instanceof Date)
    return value
      .toISOString()
      .replace('T00:00:00.000Z', '')
      .replace(/\.\d+Z$/, '')
  if (typeof value === 'object') return numberText(/** @type {{ number: string }} */ (value).number)
  return String(value)
}

/** @param {string} text such as 4.0999999999999996, which Excel shows as 4.1 */
function numberText(text) {
  const number = Number(text)
  if (Number.isNaN(number)) return text
  // Digits are lost: written so, the importers say so.
  if (Math.abs(number) >= 10 ** DIGITS_MAX) return number.toExponential(DIGITS_MAX - 1).toUpperCase()
  return String(Number(number.toPrecision(DIGITS_MAX)))
}
