/*
 * Passes rows as one array per column, which `unnest` turns into a table: a batch of any size is one statement with one
 * plan. The arrays are built here because the driver inspects each element for its type, and again for escaping.
 */

/** Column names and types, in the order of the arrays. */
export type Columns = Readonly<Record<string, string>>

/**
 * Builds a table such as `unnest($3::uuid[], $4::bigint[]) as debit(tenant_id, amount)`; its first array is parameter
 * `first`.
 */
export function unnest(first: number, columns: Columns, name: string): string {
  const arrays = Object.values(columns).map((type, index) => `$${first + index}::${type}[]`)
  return `unnest(${arrays.join(', ')}) as ${name}(${Object.keys(columns).join(', ')})`
}

/** Builds an array of values that need no escaping: ids, numbers, times. Use NULL for a missing value. */
export function plainArray(values: readonly (string | number | bigint)[]): string {
  return `{${values.join()}}`
}

export const NULL = 'NULL'

/**
 * SQL: fails the transaction unless `condition` holds, so that the statements after it need not wait for its answer. It
 * divides by zero, which no other statement can do, so the SQLSTATE has one meaning.
 */
export function failUnless(condition: string): string {
  return `1 / coalesce(${condition}, false)::integer`
}

/** The SQLSTATE of a failed `failUnless`. */
export const NOT_AS_EXPECTED = '22012'

/**
 * Builds a binary uuid[]: the server copies 16 bytes per id instead of parsing text character by character. The ids must be
 * well formed, because the server cannot check them in this form.
 */
export function uuidArray(ids: readonly string[]): Buffer {
  const array = binaryArray(UUID, ids.length, ids.length * UUID_BYTES)
  let at = ARRAY_HEADER_BYTES
  for (const id of ids) {
    at = array.writeInt32BE(UUID_BYTES, at)
    for (let index = 0; index < id.length; index += 2) {
      if (id.charCodeAt(index) === HYPHEN) index++
      array[at++] = (HEX_VALUES[id.charCodeAt(index)]! << 4) | HEX_VALUES[id.charCodeAt(index + 1)]!
    }
  }
  return array
}

const HYPHEN = '-'.charCodeAt(0)
/** Values of hexadecimal digits, by character code. */
const HEX_VALUES = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0)

/** Builds a binary timestamptz[] (microseconds since 2000) from milliseconds since 1970. Exact until 2255. */
export function timeArray(timesMs: readonly (number | null)[]): Buffer {
  let present = 0
  for (const timeMs of timesMs) if (timeMs !== null) present++
  const array = binaryArray(TIMESTAMPTZ, timesMs.length, present * TIME_BYTES)
  let at = ARRAY_HEADER_BYTES
  for (const timeMs of timesMs) {
    if (timeMs === null) {
      at = array.writeInt32BE(-1, at)
      continue
    }
    const timeUs = (timeMs - YEAR_2000_MS) * 1000
    const high = Math.floor(timeUs / 2 ** 32)
    at = array.writeInt32BE(TIME_BYTES, at)
    at = array.writeInt32BE(high, at)
    at = array.writeUInt32BE(timeUs - high * 2 ** 32, at)
  }
  return array
}

/** Builds a binary text[]: the server copies the bytes instead of searching a text array for quotes. */
export function textArray(values: readonly (string | null)[]): Buffer {
  return binaryTexts(TEXT, values, NO_BYTES)
}

/** Builds a binary json[] from JSON texts. */
export function jsonArray(texts: readonly (string | null)[]): Buffer {
  return binaryTexts(JSON_TEXT, texts, NO_BYTES)
}

/** Builds a binary jsonb[] from JSON texts. */
export function jsonbArray(texts: readonly string[]): Buffer {
  return binaryTexts(JSONB, texts, JSONB_VERSION)
}

/** Writes `prefix` in front of each element. */
function binaryTexts(elementType: number, values: readonly (string | null)[], prefix: Uint8Array): Buffer {
  let sizeBytes = 0
  for (const value of values) if (value !== null) sizeBytes += prefix.length + Buffer.byteLength(value)
  const array = binaryArray(elementType, values.length, sizeBytes)
  let at = ARRAY_HEADER_BYTES
  for (const value of values) {
    if (value === null) {
      at = array.writeInt32BE(-1, at)
      continue
    }
    if (prefix.length > 0) array.set(prefix, at + 4)
    const written = prefix.length + array.write(value, at + 4 + prefix.length)
    at = array.writeInt32BE(written, at) + written
  }
  return array
}

/** Allocates an array and writes its header. Each element is its length (-1 for null) and its bytes. */
function binaryArray(elementType: number, length: number, elementsBytes: number): Buffer {
  const array = Buffer.allocUnsafe(length === 0 ? EMPTY_BYTES : ARRAY_HEADER_BYTES + length * 4 + elementsBytes)
  array.writeInt32BE(length === 0 ? 0 : 1, 0) // dimensions
  array.writeInt32BE(0, 4) // has-nulls flag; the server checks the elements itself
  array.writeInt32BE(elementType, 8)
  if (length === 0) return array
  array.writeInt32BE(length, 12)
  array.writeInt32BE(1, 16) // the first index
  return array
}

/** Type OIDs. */
const BYTEA = 17
const TEXT = 25
const JSON_TEXT = 114
const TIMESTAMPTZ = 1184
const UUID = 2950
const JSONB = 3802

const EMPTY_BYTES = 12
const ARRAY_HEADER_BYTES = 20
const UUID_BYTES = 16
const TIME_BYTES = 8
const NO_BYTES = new Uint8Array()
const JSONB_VERSION = Uint8Array.of(1)
const YEAR_2000_MS = Date.UTC(2000, 0)

/** Builds a binary bytea[]. */
export function bytesArray(values: readonly (Buffer | null)[]): Buffer {
  let sizeBytes = 0
  for (const value of values) sizeBytes += value?.length ?? 0
  const array = binaryArray(BYTEA, values.length, sizeBytes)
  let at = ARRAY_HEADER_BYTES
  for (const value of values) {
    at = array.writeInt32BE(value?.length ?? -1, at)
    if (value !== null) at += value.copy(array, at)
  }
  return array
}

/**
 * Builds JSON for `jsonb_to_recordset`: each row's members are renamed from camelCase to column names; nested members are
 * kept.
 */
export function recordset(rows: readonly object[], replacer?: (key: string, value: unknown) => unknown): string {
  const records = rows.map((row) => {
    const record: Record<string, unknown> = {}
    for (const [member, value] of Object.entries(row)) record[columnName(member)] = value
    return record
  })
  return JSON.stringify(records, replacer)
}

/** Member `tenantId` becomes column `tenant_id`. */
function columnName(member: string): string {
  let name = columnNames.get(member)
  if (name === undefined) {
    name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    columnNames.set(member, name)
  }
  return name
}

const columnNames = new Map<string, string>()
