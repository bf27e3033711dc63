import { type Fault, isCurrency } from '@dealer-esim/contract'
import { headerKey } from '@dealer-esim/lib/table-files/table-columns.ts'
import type { PackageInput } from '../packages/merge-packages.ts'
import { type PackageDocument, SUPPLIERS_MAX } from '../packages/package-document.ts'
import { boolean, type CellKind, integer, json, money, text, volume, word, wordList } from './csv-cells.ts'

type PlainMember = Exclude<keyof PackageDocument, 'prices' | 'suppliers' | 'cancelPolicy' | LaterMember>
type LaterMember = 'packageType' | 'productFamily' | 'periodNumMin' | 'periodNumMax'

/** Members whose column has the same name, in export order. */
const PLAIN: Readonly<Record<PlainMember, CellKind>> = {
  packageCode: word,
  slug: text,
  name: text,
  description: text,
  status: word,
  dataType: word,
  volume,
  duration: integer,
  durationUnit: word,
  unusedValidTime: integer,
  activationPolicy: word,
  ekycRequired: boolean,
  locationCodes: wordList,
  locationNetworkList: json,
  speed: text,
  fupPolicy: text,
  smsStatus: integer,
  allowLoss: boolean,
}

/**
 * More members like those in PLAIN. Their columns come last, because people have spreadsheets that find the other columns
 * by position.
 */
const LATER: Readonly<Record<LaterMember, CellKind>> = {
  packageType: word,
  productFamily: text,
  periodNumMin: integer,
  periodNumMax: integer,
}

/** The columns of cancelPolicy's members. */
const POLICY: Readonly<Record<string, { member: keyof PackageDocument['cancelPolicy']; kind: CellKind }>> = {
  cancellable: { member: 'cancellable', kind: boolean },
  cancelWithinDays: { member: 'withinDays', kind: integer },
  cancelFeePercent: { member: 'feePercent', kind: integer },
}

/** Members with one column per currency, such as price:USD. */
const PRICED = { price: money, retailPrice: money } as const

/** Members with one column per supplier position, such as supplier1. */
const SUPPLIED = { supplier: text, productCode: text, costPrice: money, costCurrency: word } as const

export interface Column {
  readonly header: string
  readonly kind: CellKind
  /** The member in this column: of the package, its cancelPolicy, or one of its prices or suppliers. */
  readonly member: string
  readonly currencyCode?: string
  readonly position?: number
  readonly isPolicy?: true
}

/** The columns of an export, with as many currencies and suppliers as the catalogue has. */
export function columnsFor(currencyCodes: readonly string[], suppliers: number): string[] {
  const prices = currencyCodes.flatMap((currency) => Object.keys(PRICED).map((member) => `${member}:${currency}`))
  const supplierColumns = Array.from({ length: suppliers }, (_, i) =>
    Object.keys(SUPPLIED).map((member) => `${member}${i + 1}`),
  )
  return [...Object.keys(PLAIN), ...prices, ...supplierColumns.flat(), ...Object.keys(LATER), ...Object.keys(POLICY)]
}

/** The columns of a file for a person to choose from. A price in US dollars stands for all currencies. */
export function knownHeaders(): string[] {
  return columnsFor(['USD'], 2)
}

/** Finds a column by its name in any case, such as `Package Code` or `price:usd`. @returns undefined for an unknown header */
export function columnOf(typed: string): Column | undefined {
  const header = headerOf(typed)
  if (Object.hasOwn(PLAIN, header)) return { header, member: header, kind: PLAIN[header as PlainMember] }
  if (Object.hasOwn(LATER, header)) return { header, member: header, kind: LATER[header as LaterMember] }
  if (Object.hasOwn(POLICY, header)) return { header, isPolicy: true, ...POLICY[header]! }
  const priced = /^(price|retailPrice):([A-Z]{3})$/.exec(header)
  if (priced && isCurrency(priced[2]!)) return { header, member: priced[1]!, kind: money, currencyCode: priced[2]! }
  const supplied = /^(supplier|productCode|costPrice|costCurrency)([1-9]\d?)$/.exec(header)
  if (!supplied || Number(supplied[2]) > SUPPLIERS_MAX) return undefined
  const member = supplied[1] as keyof typeof SUPPLIED
  return { header, member, kind: SUPPLIED[member], position: Number(supplied[2]) }
}

/** @returns why a price column such as price:UDS is unknown */
export function currencyFault(typed: string): string | undefined {
  const [, member, currency] = /^(price|retailPrice):(.*)$/.exec(headerOf(typed)) ?? []
  if (currency === undefined || isCurrency(currency)) return undefined
  return `The column ${member}:${currency.slice(0, 40)} has a currency that is not in ISO 4217: use a header such as ${member}:USD.`
}

/** The name that an export gives to a column. */
function headerOf(typed: string): string {
  const [key, currency = ''] = headerKey(typed).split(':')
  const name = key!.replace(/\d{1,9}$/, '')
  const position = key!.slice(name.length)
  const known = NAMES.get(name) ?? name
  return currency === '' ? `${known}${position}` : `${known}:${currency.toUpperCase()}`
}

const NAMES = new Map(
  [PLAIN, LATER, POLICY, PRICED, SUPPLIED].flatMap(Object.keys).map((name) => [headerKey(name), name]),
)

export function writeRow(document: PackageDocument, headers: readonly string[]): string[] {
  const prices = new Map(document.prices.map((price) => [price.currencyCode, price as Record<string, unknown>]))
  const holderOf = ({ currencyCode, position, isPolicy }: Column) => {
    if (currencyCode !== undefined) return prices.get(currencyCode)
    if (position !== undefined) return document.suppliers[position - 1]
    return isPolicy ? document.cancelPolicy : document
  }
  return headers.map((header) => {
    const column = columnOf(header)!
    const { member, kind } = column
    const value = (holderOf(column) as Record<string, unknown> | undefined)?.[member]
    return value === undefined || value === null ? '' : kind.write(value)
  })
}

/** A cell that clears the value. An export writes an apostrophe before a text that consists of this character. */
const CLEAR = '-'

/**
 * Reads a row as a package. An empty cell leaves the value as it is, because price lists leave most cells empty. Suppliers
 * form one list: if any of their cells has a value, positions without one are removed.
 * @returns the package, the faults of its cells, and a function from members to columns
 */
export function readRow(cells: readonly string[], columns: readonly Column[], hasDecimalComma: boolean) {
  const input: Record<string, unknown> = {}
  const faults: Fault[] = []
  const prices = new Map<string, Record<string, unknown>>()
  const suppliers = new Map<number, Record<string, unknown>>()
  const policy: Record<string, unknown> = {}
  let hasSuppliers = false
  columns.forEach((column, i) => {
    const cell = cells[i] ?? ''
    const value = readCell(cell, column, hasDecimalComma, faults)
    if (column.position !== undefined) {
      entryOf(suppliers, column.position, {})[column.member] = value
      if (cell !== '') hasSuppliers = true
    } else if (cell === '') return
    else if (column.currencyCode !== undefined) {
      entryOf(prices, column.currencyCode, { currencyCode: column.currencyCode })[column.member] = value
    } else if (column.isPolicy) policy[column.member] = value
    else input[column.member] = value
  })
  if (Object.keys(policy).length > 0) input.cancelPolicy = policy
  if (prices.size > 0) input.prices = [...prices.values()]
  // A position whose cells are all empty has no supplier.
  const sorted = [...suppliers].sort(([a], [b]) => a - b)
  const named = sorted.filter(([, supplier]) => Object.values(supplier).some((value) => value !== null))
  if (hasSuppliers) input.suppliers = named.map(([, supplier]) => supplier)
  const positions = named.map(([position]) => position)
  return { input: input as PackageInput, faults, columnOf: columnFinder([...prices.keys()], positions) }
}

function readCell(cell: string, { header, kind }: Column, hasDecimalComma: boolean, faults: Fault[]): unknown {
  if (cell === '' || cell === CLEAR) return null
  try {
    return kind.read(cell, hasDecimalComma)
  } catch (error) {
    faults.push({ code: '000108', field: header, reason: (error as Error).message })
    return undefined
  }
}

function entryOf<Key>(entries: Map<Key, Record<string, unknown>>, key: Key, fresh: Record<string, unknown>) {
  const entry = entries.get(key) ?? fresh
  entries.set(key, entry)
  return entry
}

/**
 * prices[1].price → price:USD, suppliers[0].productCode → productCode1, cancelPolicy.feePercent → cancelFeePercent,
 * locationCodes[3] → locationCodes.
 */
function columnFinder(currencyCodes: readonly string[], positions: readonly number[]) {
  return (field: string): string => {
    const [, list, index, member = ''] = /^(prices|suppliers)\[(\d+)\]\.?(\w*)/.exec(field) ?? []
    if (list === 'prices') return `${member || 'price'}:${currencyCodes[Number(index)] ?? ''}`
    if (list === 'suppliers') return `${member || 'supplier'}${positions[Number(index)] ?? ''}`
    if (field === 'suppliers') return 'supplier1'
    const policy = Object.keys(POLICY).find((header) => field === `cancelPolicy.${POLICY[header]!.member}`)
    if (policy !== undefined) return policy
    return field.replace(/[[.].*$/, '')
  }
}
