import sql, { type Sql } from 'sql-template-tag'
import type { Db } from './db.ts'

/** The limit on rows that are counted, or sorted by a column without an index. */
export const COUNTED_ROWS_MAX = 10_000

export interface RowSum {
  readonly currencyCode: string
  readonly amount: bigint
}

export interface RowCount {
  readonly count: number
  /** false: at least `count` rows match, and the sums are missing. */
  readonly isComplete: boolean
  readonly sums: RowSum[]
}

/** Counts the rows of a query up to COUNTED_ROWS_MAX. The query has no limit itself. */
export async function countMatching(db: Pick<Db, 'query'>, rows: Sql): Promise<RowCount> {
  const [found] = await db.query<{ count: number }>(sql`
    select count(*)::int as count from (select from (${rows}) matching limit ${COUNTED_ROWS_MAX + 1}) counted`)
  return countOf(found!.count)
}

/** Counts the rows, and sums the column `amount` of each `currency_code` if all rows are counted. */
export async function countAndSum(db: Pick<Db, 'query'>, rows: Sql): Promise<RowCount> {
  const [found] = await db.query<{ count: number; sums: [string, string][] }>(sql`
    with counted as materialized (select currency_code, amount from (${rows}) matching limit ${COUNTED_ROWS_MAX + 1})
    select count(*)::int as count, (
      select coalesce(json_agg(json_build_array(currency_code, amount) order by currency_code), '[]')
      from (select currency_code, sum(amount)::text as amount from counted group by 1) sums) as sums
    from counted`)
  return countOf(found!.count, found!.sums)
}

/** @param sums one sum per currency, as text because a sum may exceed what a JSON number holds exactly */
export function countOf(
  count: number,
  sums: readonly (readonly [currencyCode: string, amount: string])[] = [],
): RowCount {
  const isComplete = count <= COUNTED_ROWS_MAX
  return {
    count: Math.min(count, COUNTED_ROWS_MAX),
    isComplete,
    sums: isComplete ? sums.map(([currencyCode, sum]) => ({ currencyCode, amount: BigInt(sum) })) : [],
  }
}
