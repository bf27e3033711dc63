import { formatMoney, parseMoney } from '@dealer-esim/contract'
import { escapeFormula, unescapeFormula } from '@dealer-esim/lib/csv.ts'

/** Converts a type of value to a cell and back. Neither function is called for null, which is an empty cell. */
export interface CellKind {
  write(value: unknown): string
  /**
   * @param hasDecimalComma numbers in the file may use a decimal comma, such as 4,50
   * @throws Error with advice as its message
   */
  read(cell: string, hasDecimalComma: boolean): unknown
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
  read(cell, hasDecimalComma) {
    const amount = Number(parseMoney(withDecimalPoint(cell.trim(), hasDecimalComma)))
    if (amount < 0) throw new Error('The amount is below zero: enter an amount such as 4.50, or 0 if it is free.')
    return amount
  },
}

/**
 * In a file that is not separated by commas, 4,50 means 4.50. Before three digits, a comma or point may instead be a
 * thousands separator, depending on the country.
 */
function withDecimalPoint(text: string, hasDecimalComma: boolean): string {
  if (!hasDecimalComma) return text
  const [number = ''] = /^-?\d+[.,]\d{3}(?!\d)/.exec(text) ?? []
  if (number !== '' && !/^-?0[.,]/.test(number)) {
    const [whole, places] = number.split(/[.,]/)
    const read = `${whole}.${places!.replace(/0{1,3}$/, '') || '0'}`
    throw new Error(`This could mean ${read} or ${whole}${places}: enter the one that you mean.`)
  }
  return text.replace(/^(-?\d+),(\d)/, '$1.$2')
}

/** Reads bytes, or a size as people write it. Writes bytes, because sizes are rounded. */
export const volume: CellKind = {
  write: String,
  read(cell, hasDecimalComma) {
    const bytes = readVolume(withDecimalPoint(cell.trim(), hasDecimalComma))
    if (typeof bytes === 'string') throw new Error(bytes)
    return bytes
  },
}

/** Reads a size as people write it. @returns the bytes, or advice */
export function readVolume(typed: string): number | string {
  if (/^(unlimited|infinite|∞)$/i.test(typed)) {
    return 'Leave it empty, and set dataType to UNLIMITED: an unlimited package has no volume.'
  }
  return parseVolume(typed) ?? 'This is not a size: enter one such as 500MB or 1GB, or a number of bytes.'
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
      throw new Error('Not valid JSON: copy the cell from another package and edit it.')
    }
  },
}

const UNITS: Readonly<Record<string, number>> = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

/**
 * The bytes of a size such as 500MB, 1.5 GB or 1073741824; undefined for any other text. Units are powers of 1024. A
 * fraction that is not a whole number of bytes is rounded: 0.1GB is 107374182.
 */
function parseVolume(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,16}(?:\.\d{1,9})?) ?([KMGT]B)?$/i.exec(text) ?? []
  if (unit === '' && !/^\d+$/.test(digits ?? '')) return undefined
  const bytes = Math.round(Number(digits) * UNITS[unit.toUpperCase()]!)
  return Number.isSafeInteger(bytes) ? bytes : undefined
}
