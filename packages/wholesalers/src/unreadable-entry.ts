import { isObject, isText, type JsonObject } from './members.ts'
import type { ListedTopUps, Supplier, SupplierProduct, UnreadableEntry } from './supplier.ts'

/** Why an entry cannot be read, and the product that it identifies, if any. */
export class Unreadable {
  readonly reason: string
  readonly productCode: string | undefined

  constructor(reason: string, productCode?: string) {
    this.reason = reason
    this.productCode = productCode
  }
}

/**
 * Reads each entry of a list by itself: one that cannot be read never affects the others.
 * @param place identifies the list, such as `page 2`
 * @param read the values of an entry; undefined if it is not sold here
 */
export function* readEach<Value>(
  entries: readonly unknown[],
  place: string,
  read: (entry: JsonObject) => Iterable<Value | Unreadable> | Value | Unreadable | undefined,
): Generator<Value | UnreadableEntry> {
  for (const [index, entry] of entries.entries()) {
    const named = `entry ${index + 1} of ${place}`
    const found = isObject(entry) ? readOne(entry, read) : new Unreadable(NOT_AN_OBJECT)
    for (const one of found instanceof Unreadable || !isList(found) ? [found] : found) {
      if (one instanceof Unreadable) {
        yield { productCode: one.productCode, entry: one.productCode ?? named, reason: one.reason }
      } else if (one !== undefined) yield one as Value
    }
  }
}

function readOne<Found>(entry: JsonObject, read: (entry: JsonObject) => Found): Found | Unreadable {
  try {
    return read(entry)
  } catch (error) {
    return new Unreadable(String(error))
  }
}

function isList(value: unknown): value is Iterable<unknown> {
  return Array.isArray(value)
}

export function isUnreadable(entry: object): entry is UnreadableEntry {
  return 'reason' in entry
}

/** The entries of a list that are objects, and the others by their place. */
export function objectsIn(
  entries: readonly unknown[],
  place: string,
): { rows: JsonObject[]; unreadable: UnreadableEntry[] } {
  return {
    rows: entries.filter(isObject),
    unreadable: entries.flatMap((entry, index) =>
      isObject(entry) ? [] : [{ entry: `entry ${index + 1} of ${place}`, reason: NOT_AN_OBJECT }],
    ),
  }
}

/** Nothing, for an answer whose entries were all read. */
export function unreadableIn(unreadable: UnreadableEntry[]): { unreadable?: UnreadableEntry[] } {
  return unreadable.length === 0 ? {} : { unreadable }
}

/**
 * The top-ups of an eSIM, each entry by itself.
 * @param codesOf the product codes of an entry, such as its code and its slug
 * @returns undefined if there is no list, or none of its entries is readable
 */
export function topUpsIn(
  entries: readonly unknown[] | undefined,
  codesOf: (entry: JsonObject) => unknown[],
  place = 'the list of top-ups',
): ListedTopUps | undefined {
  if (entries === undefined) return undefined
  const read = readEach(entries, place, (entry) => {
    const codes = codesOf(entry).filter(isText)
    return codes.length === 0 ? new Unreadable('it has no code') : { codes }
  })
  const all = [...read]
  const unreadable = all.filter(isUnreadable)
  if (all.length > 0 && unreadable.length === all.length) return undefined
  return { productCodes: all.flatMap((one) => (isUnreadable(one) ? [] : one.codes)), ...unreadableIn(unreadable) }
}

const NOT_AN_OBJECT = 'it is not an object'

/** The entries of a list that can be read. */
export async function* readable<Entry extends object>(
  entries: AsyncIterable<Entry | UnreadableEntry>,
): AsyncGenerator<Entry> {
  for await (const entry of entries) if (!isUnreadable(entry)) yield entry
}

/** The products of a supplier that can be read. */
export async function* readableProducts({ catalogue }: Pick<Supplier, 'catalogue'>): AsyncGenerator<SupplierProduct> {
  if (catalogue !== undefined) yield* readable(catalogue())
}
