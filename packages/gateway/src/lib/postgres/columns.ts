import { formatTime } from '@dealer-esim/contract'
import { HEX_VALUES, HYPHEN } from '../ids.ts'

/*
 * Rows as one array a column, which `unnest` makes into a table: a batch of any size is one statement with one plan. The
 * arrays are written here, because the driver's own way looks at each element for its type, and twice for what needs a
 * backslash.
 */

/** Names of columns and their types, in the order of their arrays. */
export type Columns = Readonly<Record<string, string>>

/** `unnest($3::uuid[], $4::bigint[]) as debit(tenant_id, amount)`: a table whose first array is parameter `first`. */
export function unnest(first: number, columns: Columns, name: string): string {
  const arrays = Object.values(columns).map((type, index) => `$${first + index}::${type}[]`)
  return `unnest(${arrays.join(', ')}) as ${name}(${Object.keys(columns).join(', ')})`
}

/** Of ids, numbers and times: values without a character that an array would read as its own. NULL stands for none. */
export function plainArray(values: readonly (string | number | bigint)[]): string {
  return `{${values.join()}}`
}

export const NULL = 'NULL'

/**
 * Of ids, in the binary form of uuid[]: the server takes sixteen bytes as they are, where it reads a text character by
 * character. They must be well formed, which the server cannot see here.
 */
export function uuidArray(ids: readonly string[]): Buffer {
  const array = binaryArray(UUID, ids.length, ids.length * UUID_BYTES)
  let at = ARRAY_HEAD_BYTES
  for (const id of ids) {
    at = array.writeInt32BE(UUID_BYTES, at)
    for (let index = 0; index < id.length; index += 2) {
      if (id.charCodeAt(index) === HYPHEN) index++
      array[at++] = (HEX_VALUES[id.charCodeAt(index)]! << 4) | HEX_VALUES[id.charCodeAt(index + 1)]!
    }
  }
  return array
}

/** Of moments in ms since 1970, in the binary form of timestamptz[]: microseconds since 2000. Exact until 2255. */
export function timeArray(timesMs: readonly number[]): Buffer {
  const array = binaryArray(TIMESTAMPTZ, timesMs.length, timesMs.length * TIME_BYTES)
  let at = ARRAY_HEAD_BYTES
  for (const timeMs of timesMs) {
    const timeUs = (timeMs - YEAR_2000_MS) * 1000
    const high = Math.floor(timeUs / 2 ** 32)
    at = array.writeInt32BE(TIME_BYTES, at)
    at = array.writeInt32BE(high, at)
    at = array.writeUInt32BE(timeUs - high * 2 ** 32, at)
  }
  return array
}

/** Of any texts: the server takes their bytes as they are, where it looks through a written array for quotes. */
export function textArray(values: readonly (string | null)[]): Buffer {
  return binaryTexts(TEXT, values, NO_BYTES)
}

/** Of JSON texts, for json[]. */
export function jsonArray(texts: readonly string[]): Buffer {
  return binaryTexts(JSON_TEXT, texts, NO_BYTES)
}

/** Of JSON texts, for jsonb[]. */
export function jsonbArray(texts: readonly string[]): Buffer {
  return binaryTexts(JSONB, texts, JSONB_VERSION)
}

/** Each element's bytes have `before` in front. */
function binaryTexts(elementType: number, values: readonly (string | null)[], before: Uint8Array): Buffer {
  let sizeBytes = 0
  for (const value of values) if (value !== null) sizeBytes += before.length + Buffer.byteLength(value)
  const array = binaryArray(elementType, values.length, sizeBytes)
  let at = ARRAY_HEAD_BYTES
  for (const value of values) {
    if (value === null) {
      at = array.writeInt32BE(-1, at)
      continue
    }
    array.set(before, at + 4)
    const written = before.length + array.write(value, at + 4 + before.length)
    at = array.writeInt32BE(written, at) + written
  }
  return array
}

/** With its head written; each element is its length, -1 for null, and its bytes. */
function binaryArray(elementType: number, length: number, elementsBytes: number): Buffer {
  const array = Buffer.allocUnsafe(length === 0 ? EMPTY_BYTES : ARRAY_HEAD_BYTES + length * 4 + elementsBytes)
  array.writeInt32BE(length === 0 ? 0 : 1, 0) // dimensions
  array.writeInt32BE(0, 4) // tells of nulls; the server looks at the elements themselves
  array.writeInt32BE(elementType, 8)
  if (length === 0) return array
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16) // the first index
  return array
}

/** Types by their numbers in the catalogue. */
const TEXT = 25
const JSON_TEXT = 114
const TIMESTAMPTZ = 1184
const UUID = 2950
const JSONB = 3802

const EMPTY_BYTES = 12
const ARRAY_HEAD_BYTES = 20
const UUID_BYTES = 16
const TIME_BYTES = 8
const NO_BYTES = new Uint8Array()
const JSONB_VERSION = Uint8Array.of(1)
const YEAR_2000_MS = Date.UTC(2000, 0)

/** Of bytes, in the hexadecimal form of bytea. */
export function bytesArray(values: readonly (Buffer | null)[]): string {
  return `{${values.map((value) => (value === null ? NULL : `"\\\\x${value.toString('hex')}"`)).join()}}`
}

/**
 * Rows as the JSON of `jsonb_to_recordset`: their members, in camelCase here, under the names of their columns. What stands
 * inside a member is left alone.
 */
export function recordset(rows: readonly object[], replacer?: (key: string, value: unknown) => unknown): string {
  const records = rows.map((row) => {
    const record: Record<string, unknown> = {}
    for (const [member, value] of Object.entries(row)) record[columnName(member)] = value
    return record
  })
  return JSON.stringify(records, replacer)
}

/** `tenantId` is the column tenant_id. */
function columnName(member: string): string {
  let name = columnNames.get(member)
  if (name === undefined) {
    name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    columnNames.set(member, name)
  }
  return name
}

const columnNames = new Map<string, string>()

/** What rows are to a statement and to its parameters. */
export interface RowFormat {
  table(first: number, columns: Columns, name: string): string
  /** Of a column, as an array. */
  list(parameter: number, type: string): string
  ids(values: readonly string[]): unknown
  plain(values: readonly (string | number | bigint)[]): unknown
  texts(values: readonly (string | null)[]): unknown
  jsons(values: readonly string[]): unknown
  jsonbs(values: readonly string[]): unknown
  times(valuesMs: readonly number[]): unknown
}

/** Any number of them, one array a column. */
export const ROWS: RowFormat = {
  table: unnest,
  list: (parameter, type) => `$${parameter}::${type}[]`,
  ids: uuidArray,
  plain: plainArray,
  texts: textArray,
  jsons: jsonArray,
  jsonbs: jsonbArray,
  times: timeArray,
}

/** Exactly one, one value a column: a lone order's statement takes 0.85 of the server's time that arrays of one take. */
export const ONE_ROW: RowFormat = {
  table(first, columns, name) {
    const values = Object.entries(columns).map(([column, type], index) => `$${first + index}::${type} as ${column}`)
    return `(select ${values.join(', ')}) as ${name}`
  },
  list: (parameter, type) => `array[$${parameter}::${type}]`,
  ids: ([id]) => id,
  plain: ([value]) => String(value),
  texts: ([text]) => text,
  jsons: ([json]) => json,
  jsonbs: ([json]) => json,
  times: ([timeMs]) => formatTime(timeMs!),
}
