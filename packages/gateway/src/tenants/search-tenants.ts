import { countAndSum, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Position } from './tenant-rows.ts'
import { matches, SUMMARY, type TenantSummary } from './tenant-views.ts'

export interface TenantFilter {
  /** Part of a name, or a whole AppKey. */
  keyword?: string | undefined
  status?: 'ACTIVE' | 'SUSPENDED' | undefined
  /** One of the operator's tags. */
  tag?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** A tenant with the operator's tags, which dealers cannot see. */
export interface TaggedTenant extends TenantSummary {
  tags: string[]
}

/**
 * The sort expressions for each column; an empty list sorts by time. If a balance changes between two pages, its dealer may
 * appear twice or not at all.
 */
const SORTS = {
  createdAt: [],
  clientName: ['left(lower(t.tenant_name), 60)'],
  balance: ['t.currency_code', 'w.balance'],
} as const

export type TenantSort = keyof typeof SORTS

/**
 * Searches the dealers, newest first or sorted by a column.
 * @throws Refusal if too many match to sort by that column
 */
export async function searchTenants(
  db: Pick<Db, 'query'>,
  filter: TenantFilter,
  page: { column: TenantSort; ascending: boolean; after?: Position | undefined; limit: number },
): Promise<{ rows: TaggedTenant[]; next: Position | null }> {
  const { column, ascending, after, limit } = page
  const by: readonly string[] = SORTS[column]
  if (by.length > 0 && !(await countTenants(db, filter)).isComplete)
    throw new Refusal(409, 'TOO_MANY_TO_SORT', 'More than 10,000 dealers match. Narrow the filter, or sort by time.')
  const direction = raw(ascending ? 'asc' : 'desc')
  const keys = [...by, 't.tenant_id'].map((key) => raw(key))
  const beyond = after === undefined ? empty : sql`and (${join(keys)}) ${raw(ascending ? '>' : '<')} (${join(after)})`
  const rows = await db.query<TaggedTenant & { position: string[] }>(sql`
    select ${SUMMARY}, t.tags, array[${raw([...by, 't.tenant_id'].map((key) => `(${key})::text`).join())}] as position
    from tenants t join wallets w using (tenant_id)
    where true ${conditions(filter)} ${beyond}
    order by ${join(keys.map((key) => sql`${key} ${direction}`))} limit ${limit + 1}`)
  const shown = rows.slice(0, limit)
  return {
    rows: shown.map(({ position: _, ...row }) => row),
    next: rows.length > limit ? shown.at(-1)!.position : null,
  }
}

/** Counts the matching dealers and sums their balances. */
export function countTenants(db: Pick<Db, 'query'>, filter: TenantFilter): Promise<RowCount> {
  return countAndSum(
    db,
    sql`select t.currency_code, w.balance as amount from tenants t join wallets w using (tenant_id)
        where true ${conditions(filter)}`,
  )
}

function conditions({ keyword, status, tag, from, to }: TenantFilter): Sql {
  return sql`
    ${status === undefined ? empty : sql`and t.status = ${status}`}
    ${keyword === undefined ? empty : sql`and ${matches(keyword)}`}
    ${tag === undefined ? empty : sql`and ${tag} = any (t.tags)`}
    ${from === undefined ? empty : sql`and t.created_at >= ${from}`}
    ${to === undefined ? empty : sql`and t.created_at < ${to}`}`
}
