import { createToken, readToken } from '@dealer-esim/lib/crypto.ts'
import { COUNTED_ROWS_MAX, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static, type TArray, type TObject, type TProperties, type TSchema } from 'typebox'
import type { Position } from '#tenants/tenant-rows.ts'
import { csvRoute } from './csv-route.ts'
import { type FoundPage, type ListPage, limit, nextCursor, PAGE_SIZE } from './paging.ts'
import { type Context, type Route, route } from './route.ts'
import { CLOSED, money, nullable, time } from './route-schemas.ts'

/**
 * How a column can be sorted. INDEX: an index has this order, so any number of rows can be sorted. FILTERED: the matching rows
 * are sorted one by one, so at most 10 000 may match. Values of sortable columns never change: otherwise a row could move while
 * somebody turns pages, and be shown twice or not at all.
 */
export type Sort = 'INDEX' | 'FILTERED'

/** A list of the console. Its page, its totals and its CSV file are three routes made from this declaration. */
interface ListDeclaration<Name extends string, F extends TProperties, R extends TSchema, P extends TProperties> {
  /** The answer's member, and the file's name unless `file` gives another one. */
  name: Name
  file?: string
  path: string
  access: Exclude<Route['access'], 'anyone'>
  testMode?: Route['testMode']
  summary: string
  params?: TObject<P>
  filters: F
  row: R
  /** The schemas of further members of the answer, which `find` returns as `more`. */
  more?: TProperties
  /** The columns by which the list can be sorted. Empty if it has one fixed order. */
  sorts: Record<string, Sort>
  /** The default column, with a leading minus if descending. Empty if the list has one fixed order. */
  firstSort: string
  find(context: Context, query: ListQuery<F>, page: ListPage, params: Static<TObject<P>>): Promise<FoundPage<unknown>>
  count(context: Context, query: ListQuery<F>, params: Static<TObject<P>>): Promise<RowCount>
  /** The columns of the CSV file. Absent if the list declares its own file. */
  csv?: Record<string, (row: Static<R>) => unknown>
}

export type ListQuery<F extends TProperties> = Static<TObject<F>>

const totals = Type.Object({
  count: Type.Integer(),
  isComplete: Type.Boolean({ description: `false: at least this many; rows are counted up to ${COUNTED_ROWS_MAX}` }),
  sums: Type.Optional(
    Type.Array(Type.Object({ currencyCode: Type.String(), amount: money() }), {
      description: 'If all rows are counted',
    }),
  ),
  sorts: Type.Optional(
    Type.Array(Type.String(), { description: 'Columns by which the list can be sorted. Absent: its order is fixed' }),
  ),
  sortable: Type.Optional(
    Type.Array(Type.String(), { description: 'Those of them by which this number of rows can be sorted' }),
  ),
})
export type ListTotals = Static<typeof totals>

/** The number of rows in the first part of a file: few, so that the download starts quickly. */
const FIRST_PART_ROWS = 100
/**
 * The largest part. Each part is four times as long as the one before, up to this size, so that a download that is cancelled
 * early costs little. Each part looks up all tenants, or sorts the list again: in parts of 2 000 rows a file costs half as much, but
 * the rows of a part are made in one turn of the event loop, for which dealers wait.
 */
const PART_ROWS_MAX = 500
const PART_GROWTH = 4
const CURSOR_LENGTH_MAX = 1_000

export function listRoutes<
  Name extends string,
  F extends TProperties,
  R extends TSchema,
  P extends TProperties = Record<never, never>,
>(list: ListDeclaration<Name, F, R, P>): Route[] {
  const { name, path, access, testMode, summary, filters, sorts } = list
  const params = list.params ?? Type.Object({}, CLOSED)
  const orders = Object.keys(sorts).flatMap((column) => [column, `-${column}`])
  const sort: TProperties = orders.length > 0 ? { sort: Type.Optional(Type.Enum(orders)) } : {}
  const page = {
    ...sort,
    limit: limit(),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: CURSOR_LENGTH_MAX })),
  }
  const answer = {
    [name]: Type.Array(list.row),
    ...list.more,
    nextCursor: nextCursor(),
    searchedTo: nullable({
      ...time(),
      description: 'Set if the page is short because older rows are not searched yet',
    }),
  } as unknown as Record<Name, TArray<R>>
  return [
    route(`GET ${path}`, {
      access,
      ...(testMode && { testMode }),
      summary,
      ...(list.params && { params }),
      query: Type.Object({ ...filters, ...page } as TProperties, CLOSED),
      answer: Type.Object(answer as TProperties),
      handle: (async (context: Context, parts: Parts<F, P>) => {
        const { sort, limit = PAGE_SIZE, cursor, ...query } = parts.query
        const key = { ...list, linkKey: context.deps.linkKey, sort: sort ?? list.firstSort }
        const wanted = {
          ...columnOf(key.sort),
          limit,
          after: cursor === undefined ? undefined : readCursor(key, cursor),
        }
        const found = await list.find(context, query as ListQuery<F>, wanted, parts.params)
        const next = found.next === null ? null : createCursor(key, found.next)
        return { [name]: found.rows, ...found.more, nextCursor: next, searchedTo: found.searchedTo ?? null }
      }) as never,
    }),
    totalsRoute(list),
    ...(list.csv ? [fileRoute(list, params, sort)] : []),
  ]
}

/** The route for the totals of a list, over all its pages. */
function totalsRoute<F extends TProperties, R extends TSchema, P extends TProperties>(
  list: ListDeclaration<string, F, R, P>,
): Route {
  const { path, access, testMode, params, filters, sorts } = list
  return route(`GET ${path}/totals`, {
    access,
    ...(testMode && { testMode }),
    summary: 'How many rows of this list match, and their sums',
    ...(params && { params }),
    query: Type.Object(filters as TProperties, CLOSED),
    answer: totals,
    handle: (async (context: Context, parts: Parts<F, P>) => {
      const counted = await list.count(context, parts.query as ListQuery<F>, parts.params)
      const { sums, ...count } = counted
      const sortable = Object.keys(sorts).filter((column) => counted.isComplete || sorts[column] === 'INDEX')
      return {
        ...count,
        ...(sums.length > 0 && { sums }),
        ...(sortable.length > 0 && { sortable, sorts: Object.keys(sorts) }),
      }
    }) as never,
  })
}

interface Parts<F extends TProperties, P extends TProperties> {
  query: ListQuery<F> & { sort?: string; limit?: number; cursor?: string }
  params: Static<TObject<P>>
}

function fileRoute<F extends TProperties, R extends TSchema, P extends TProperties>(
  list: ListDeclaration<string, F, R, P>,
  params: TObject,
  sort: TProperties,
): Route {
  return csvRoute<Static<R>, TObject | undefined, TObject>({
    path: `${list.path}.csv`,
    access: list.access,
    ...(list.testMode && { testMode: list.testMode }),
    summary: 'All rows of this list as CSV, with its filters and in its order',
    params: list.params && params,
    query: Type.Object({ ...list.filters, ...sort } as TProperties, CLOSED),
    file: list.file ?? list.name,
    columns: list.csv!,
    parts: (context, request) => filePartsOf(list, context, request as unknown as Parts<F, P>),
  })
}

async function* filePartsOf<F extends TProperties, R extends TSchema, P extends TProperties>(
  list: ListDeclaration<string, F, R, P>,
  context: Context,
  { params, query: { sort, ...query } }: Parts<F, P>,
): AsyncGenerator<Static<R>[]> {
  const { column, ascending } = columnOf(sort ?? list.firstSort)
  let limit = FIRST_PART_ROWS
  for (let after: Position | null | undefined; after !== null; limit = Math.min(PART_GROWTH * limit, PART_ROWS_MAX)) {
    const page = await list.find(context, query as ListQuery<F>, { column, ascending, limit, after }, params)
    yield page.rows as Static<R>[]
    after = page.next
  }
}

function columnOf(sort: string): { column: string; ascending: boolean } {
  return sort.startsWith('-') ? { column: sort.slice(1), ascending: false } : { column: sort, ascending: true }
}

interface CursorKey {
  path: string
  sort: string
  linkKey: Buffer
}

/** The cursor is authenticated, so that only values that a list has returned reach the database. It grants no access. */
function createCursor({ linkKey, path, sort }: CursorKey, position: Position): string {
  return createToken(linkKey, purposeOf(path, sort), Buffer.from(JSON.stringify(position)))
}

function readCursor({ linkKey, path, sort }: CursorKey, cursor: string): Position {
  const position = readToken(linkKey, purposeOf(path, sort), cursor)
  if (position === undefined)
    throw new Refusal(
      400,
      'CURSOR_INVALID',
      'The cursor does not belong to this list in this order: start from the first page.',
    )
  return JSON.parse(position.toString()) as Position
}

const purposeOf = (path: string, sort: string) => `console list ${path} ${sort}`
