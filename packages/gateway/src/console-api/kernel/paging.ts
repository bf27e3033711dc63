import Type, { type TArray, type TSchema } from 'typebox'
import { nullable, uuid } from './schemas.ts'

export const PAGE_SIZE = 50
const PAGE_SIZE_MAX = 200
/** The query parameter for the number of rows on a page. If absent, it is PAGE_SIZE. */
export const limit = () => Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX }))

/** A row's id: the page after that row. Access is checked separately, so a cursor grants nothing. */
export const cursor = () => Type.Optional(uuid())
export const nextCursor = () => nullable(Type.String())

/** For rows that are ordered by a code, which may be longer than an id and contain other characters. */
export const keyCursor = () => Type.Optional(Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_-]+$' }))
export const cursorOfKey = (key: string) => Buffer.from(key).toString('base64url')
export const keyOfCursor = (cursor = '') => Buffer.from(cursor, 'base64url').toString()

/** The answer of a list: a page of rows under `name`, and `nextCursor`. */
export function pageSchema<Name extends string, Row extends TSchema>(name: Name, row: Row) {
  const rows = { [name]: Type.Array(row) } as Record<Name, TArray<Row>>
  return Type.Object({ ...rows, nextCursor: nextCursor() })
}

/** Cuts the extra row that was read beyond the page to find out whether there is a next page. */
export function pageOf<Row>(rows: Row[], idOf: (row: Row) => string, size = PAGE_SIZE) {
  const page = rows.slice(0, size)
  const last = page.at(-1)
  return { page, nextCursor: rows.length > size && last !== undefined ? idOf(last) : null }
}

/** Sorts rows that are all in memory by key, and returns the page after the cursor's key. */
export function pageAfter<Row>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => string,
  { cursor, limit }: { cursor?: string | undefined; limit?: number | undefined },
) {
  const after = keyOfCursor(cursor)
  const later: [key: string, row: Row][] = []
  for (const row of rows) {
    const key = keyOf(row)
    if (key > after) later.push([key, row])
  }
  later.sort(([a], [b]) => (a < b ? -1 : 1))
  const { page, nextCursor } = pageOf(later, ([key]) => cursorOfKey(key), limit)
  return { page: page.map(([, row]) => row), nextCursor }
}
