import { formatMoney } from '@dealer-esim/contract'
import { type Options, stringify } from 'csv-stringify/sync'

/**
 * Spreadsheets execute cells that begin like a formula, and many cells hold text that others wrote. Such text is written
 * with a leading apostrophe, which is removed when a file is read. Text that already looks escaped gets another apostrophe,
 * so that every text survives the round trip. The same rule applies to all files.
 * In locales with semicolon-separated lists, a spreadsheet also starts a cell after each semicolon or line break inside a
 * text, where quotes do not help. So text after a separator is escaped in the same way.
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

/** Cells without escaping. Cells that contain a different separator are quoted, for programs that accept several. */
export function csvLines(rows: readonly (readonly unknown[])[], cast: Options['cast'] = {}): string {
  return stringify(rows as unknown[][], { quoted_match: /[;\t]/, cast })
}

/** Rows as CSV. Text is escaped; numbers stay numbers; an amount (bigint) becomes a decimal. */
export function csvText(rows: readonly (readonly unknown[])[]): string {
  return csvLines(rows, {
    string: escapeFormula,
    bigint: (amount) => formatMoney(amount),
    date: (time) => time.toISOString(),
  })
}

/** Columns that are named as the members of a row that they show: `memberColumns('supplier', 'paused')`. */
export function memberColumns<Name extends string>(
  ...names: Name[]
): Record<Name, (row: Readonly<Record<Name, unknown>>) => unknown> {
  const columns = names.map((name) => [name, (row: Readonly<Record<Name, unknown>>) => row[name]])
  return Object.fromEntries(columns)
}
