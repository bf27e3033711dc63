import { formatMoney } from '@dealer-esim/contract'
import { type Options, stringify } from 'csv-stringify/sync'

/**
 * Spreadsheets run a cell that begins like a formula, and so much of a file is text that others wrote. Such text is
 * written with an apostrophe before it, which is taken away again where a file is read; text that looks as if we had done
 * so gets one too, so that every text comes back. One rule for every file.
 *
 * In countries where a list is separated by semicolons a spreadsheet begins a cell at each of them, and at the end of a
 * line within a text: quotes in what it takes for the middle of a cell protect nothing. So the same goes for what stands
 * behind a separator in a text.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const ESCAPED = /^'['=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const INNER_FORMULA = /([;\t\r\n]"*)(?='?[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|'')/g
const INNER_ESCAPED = /([;\t\r\n]"*)'(?=['=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

export function escapeFormula(text: string): string {
  const inner = text.replace(INNER_FORMULA, "$1'")
  return FORMULA.test(text) || ESCAPED.test(text) ? `'${inner}` : inner
}

export function unescapeFormula(cell: string): string {
  return (ESCAPED.test(cell) ? cell.slice(1) : cell).replace(INNER_ESCAPED, '$1')
}

/** Cells as they stand. One with another separator is quoted, for programs that take several. */
export function csvLines(rows: readonly (readonly unknown[])[], cast: Options['cast'] = {}): string {
  return stringify(rows as unknown[][], { quoted_match: /[;\t]/, cast })
}

/** Rows as CSV. Text is escaped; numbers stay numbers, an amount (bigint) becomes a decimal, also below zero. */
export function csvText(rows: readonly (readonly unknown[])[]): string {
  return csvLines(rows, {
    string: escapeFormula,
    bigint: (amount) => formatMoney(amount),
    date: (time) => time.toISOString(),
  })
}

/** Of the first line of a file: how to save it, where a spreadsheet wrote it in a form of its own. */
export function findFormatFault(cells: readonly string[]): string | undefined {
  const says = (what: string) => `The file is ${what}: save it as CSV UTF-8, separated by commas.`
  const text = cells.join()
  if (/[\0\uFFFD]/.test(text)) return says('UTF-16, or of another encoding')
  if (cells.length > 1) return undefined
  if (text.includes(';')) return says('separated by semicolons')
  return text.includes('\t') ? says('separated by tabs') : undefined
}
