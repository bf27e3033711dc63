import { formatMoney, parseMoney } from '@dealer-esim/contract'
import { escapeFormula, unescapeFormula } from '@dealer-esim/lib/csv.ts'

/** Converts a type of value to a cell and back. Neither function is called for null, which is an empty cell. */
export interface CellKind {
  write(value: unknown): string
  /** @throws Error with advice as its message */
  read(cell: string): unknown
}

export const text: CellKind = { write: (value) => escapeFormula(String(value)), read: unescapeFormula }

/** Codes and enumerations: never formulas. Spaces around them are ignored. */
export const word: CellKind = { write: String, read: (cell) => cell.trim() }

export const integer: CellKind = {
  write: String,
  read(cell) {
    if (!/^\d{1,16}$/.test(cell.trim())) throw new Error(`"${cell.slice(0, 40)}" is not a whole number.`)
    return Number(cell)
  },
}

export const boolean: CellKind = {
  write: String,
  read(cell) {
    const value = BOOLEANS[cell.trim().toLowerCase()]
    if (value === undefined) throw new Error(`"${cell.slice(0, 40)}" is neither true nor false.`)
    return value
  },
}

/** The spellings that people use and spreadsheets produce. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  false: false,
  yes: true,
  no: false,
  1: true,
  0: false,
}

/** Decimal units, such as 4.50, because people edit CSV files. */
export const money: CellKind = {
  write: (value) => formatMoney(value as number),
  read(cell) {
    const amount = Number(parseMoney(cell.trim()))
    if (amount < 0) throw new Error('It is below zero: give an amount such as 4.50, or 0 for free.')
    return amount
  },
}

/** Reads bytes, or a size as people write it. Writes bytes, because sizes are rounded. */
export const volume: CellKind = {
  write: String,
  read(cell) {
    const bytes = parseVolume(cell.trim())
    if (bytes === undefined) throw new Error('It is not a size: give one such as 500MB or 1GB, or whole bytes.')
    return bytes
  },
}

export const wordList: CellKind = {
  write: (value) => (value as string[]).join(' '),
  read: (cell) => cell.split(/[\s,;|]+/).filter(Boolean),
}

export const json: CellKind = {
  write: (value) => escapeFormula(JSON.stringify(value)),
  read(cell) {
    try {
      return JSON.parse(unescapeFormula(cell))
    } catch {
      throw new Error('It is not valid JSON: copy the cell of another package and edit it.')
    }
  },
}

const UNITS: Readonly<Record<string, number>> = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

/** The bytes of a size such as 500MB, 1.5 GB or 1073741824; undefined for any other text. Units are powers of 1024. */
export function parseVolume(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,16}(?:\.\d{1,9})?) ?([KMGT]B)?$/i.exec(text) ?? []
  const bytes = Number(digits) * UNITS[unit.toUpperCase()]!
  return Number.isSafeInteger(bytes) ? bytes : undefined
}
