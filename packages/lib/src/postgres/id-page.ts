import sql, { empty, raw, type Sql } from 'sql-template-tag'

/** Selects a page of a list that is ordered by id. Ids are UUIDv7, so this is also the order of time. */
export interface IdPage {
  /** The id of the last row of the previous page. */
  readonly after?: string | undefined
  /** Default: the newest first. */
  readonly ascending?: boolean | undefined
  readonly limit: number
}

/** SQL: the end of a query, after its conditions. */
export function idPage(column: string, { after, ascending = false, limit }: IdPage): Sql {
  const id = raw(column)
  const beyond = after === undefined ? empty : sql`and ${id} ${raw(ascending ? '>' : '<')} ${after}`
  return sql`${beyond} order by ${id} ${raw(ascending ? 'asc' : 'desc')} limit ${limit}`
}
