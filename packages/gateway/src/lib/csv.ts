import { formatMoney } from '@dealer-esim/contract'
import { stringify } from 'csv-stringify/sync'

/**
 * Spreadsheets run a cell that begins like a formula, and so much of a file is text that others wrote. Such text is
 * written with an apostrophe before it, which is taken away again where a file is read; text that looks as if we had done
 * so gets one too, so that every text comes back. One rule for every file: docs/decisions/0034.
 */
const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
const ESCAPED = /^'['=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

export function escapeFormula(text: string): string {
  return FORMULA.test(text) || ESCAPED.test(text) ? `'${text}` : text
}

export function unescapeFormula(cell: string): string {
  return ESCAPED.test(cell) ? cell.slice(1) : cell
}

/** Rows as CSV. Text is escaped; numbers stay numbers, an amount (bigint) becomes a decimal, also below zero. */
export function csvText(rows: readonly (readonly unknown[])[]): string {
  return stringify(rows as unknown[][], {
    cast: { string: escapeFormula, bigint: (amount) => formatMoney(amount), date: (time) => time.toISOString() },
  })
}
