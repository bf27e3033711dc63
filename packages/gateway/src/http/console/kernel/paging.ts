import Type from 'typebox'
import type { Position } from '#tenants/tenant-rows.ts'
import { nullable } from './route-schemas.ts'

export const PAGE_SIZE = 50
export const PAGE_SIZE_MAX = 200
/** The query parameter for the number of rows on a page. If absent, it is PAGE_SIZE. */
export const limit = () => Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_SIZE_MAX }))
export const nextCursor = () => nullable(Type.String())

export interface ListPage {
  column: string
  ascending: boolean
  after?: Position | undefined
  limit: number
}

export interface FoundPage<Row> {
  rows: Row[]
  /** Further members of the answer. */
  more?: object
  /** The start of the next page; null after the last page. */
  next: Position | null
  searchedTo?: Date | null
}

/**
 * Reads a page of a list that is ordered by one key, such as an id. Reads one more row, which shows whether there is a next
 * page.
 */
export async function pageByKey<Row>(
  { after, ascending, limit }: ListPage,
  read: (page: { after: string | undefined; ascending: boolean; limit: number }) => Promise<Row[]>,
  keyOf: (row: Row) => string,
): Promise<FoundPage<Row>> {
  const rows = await read({ after: after?.[0], ascending, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  return { rows: shown, next: rows.length > limit ? [keyOf(shown.at(-1)!)] : null }
}

/** Sorts rows in memory by a key that is unique among them, and returns one page. */
export function pageInMemory<Row>(
  rows: Iterable<Row>,
  keyOf: (row: Row) => string,
  page: ListPage,
): Promise<FoundPage<Row>> {
  const { ascending } = page
  const read = async ({ after, limit }: { after: string | undefined; limit: number }) => {
    const keyed = [...rows].map((row) => ({ key: keyOf(row), row }))
    const beyond = keyed.filter(({ key }) => after === undefined || (ascending ? key > after : key < after))
    beyond.sort((a, b) => (a.key < b.key === ascending ? -1 : 1))
    return beyond.slice(0, limit).map(({ row }) => row)
  }
  return pageByKey(page, read, keyOf)
}
