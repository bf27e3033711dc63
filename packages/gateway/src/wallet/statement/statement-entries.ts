import { orderNoOf } from '@dealer-esim/contract'
import { countAndSum, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { TransferKind } from '../ledger/post.ts'
import type { VersionRange } from './statement-month.ts'

/** A movement in a statement. */
export interface StatementEntry {
  walletVersion: bigint
  createdAt: Date
  kind: TransferKind
  /** Positive: credited to the wallet. Negative: debited from it. */
  amount: bigint
  balanceAfter: bigint
  orderNo: string | null
  /**
   * The number of the order's debit among these movements, which people use as the order's number. For a debit, its own
   * number.
   */
  orderEntryNo: bigint | null
  /** The label of the restricted key that placed its order; null: the tenant's own key, or no order. */
  keyLabel: string | null
  transactionId: string | null
  /** The eSIM that the entry's order tops up; null for other entries. */
  toppedUpProfileId: string | null
  itemNo: number | null
  reference: string | null
  reason: string | null
  /** The person who posted it; null for orders and refunds. */
  actor: string | null
}

export interface StatementPage {
  entries: StatementEntry[]
  /** `after` for the next page; null on the last page. */
  next: bigint | null
}

export const STATEMENT_PAGE_MAX = 500

/** A page of a wallet's movements, newest first, or with `ascending` oldest first. Every page costs the same. */
export async function getStatementPage(
  db: Pick<Db, 'query'>,
  tenantId: string,
  page: {
    /** The version of the last movement on the previous page. */
    after?: bigint
    limit: number
    ascending?: boolean
    within?: VersionRange
    kind?: TransferKind | undefined
  },
): Promise<StatementPage> {
  const limit = Math.min(page.limit, STATEMENT_PAGE_MAX)
  const { after, ascending = false, within, kind } = page
  const [comparison, direction] = ascending ? [raw('>'), raw('asc')] : [raw('<'), raw('desc')]
  const rows = await db.query<Row>(
    entriesQuery(
      tenantId,
      sql`
      ${after === undefined ? empty : sql`and wallet_version ${comparison} ${after}`}
      ${within === undefined ? empty : sql`and wallet_version >= ${within.from} and wallet_version < ${within.to}`}
      ${ofKind(kind)}
      order by wallet_version ${direction} limit ${limit + 1}`,
    ),
  )
  if (!ascending) rows.reverse()
  const entries = rows.slice(0, limit).map((row) => entryOf(row))
  return { entries, next: rows.length > limit ? entries[limit - 1]!.walletVersion : null }
}

/** Counts the movements in a range, all or of one kind, and sums their amounts. */
export function countEntries(
  db: Pick<Db, 'query'>,
  tenantId: string,
  within: VersionRange,
  kind?: TransferKind,
): Promise<RowCount> {
  const id = requireUuid(tenantId, 'tenant')
  return countAndSum(
    db,
    sql`select w.currency_code, case t.to_account when 'WALLET' then t.amount else -t.amount end as amount
        from transfers t join wallets w using (tenant_id)
        where tenant_id = ${id} and wallet_version >= ${within.from} and wallet_version < ${within.to} ${ofKind(kind)}`,
  )
}

/**
 * Reads the movements of a range, all of them or those of one kind, oldest first, page by page. Movements never change, so
 * pages are contiguous.
 */
export async function* streamEntries(
  db: Pick<Db, 'query'>,
  tenantId: string,
  within: VersionRange,
  kind?: TransferKind,
): AsyncGenerator<StatementEntry[]> {
  for (let from: bigint | undefined = within.from; from !== undefined && from < within.to; ) {
    const rows: Row[] = await db.query<Row>(
      entriesQuery(
        tenantId,
        sql`
        and wallet_version >= ${from} and wallet_version < ${within.to} ${ofKind(kind)}
        order by wallet_version limit ${STATEMENT_PAGE_MAX}`,
      ),
    )
    yield rows.map((row) => entryOf(row))
    from = rows.length < STATEMENT_PAGE_MAX ? undefined : rows.at(-1)!.walletVersion + 1n
  }
}

/** The entries of a wallet from `first` to `last`. */
export interface EntryRange {
  tenantId: string
  first: number
  last: number
}

/** What the ledger's tree hashes of a movement. */
export type HashedEntry = Omit<StatementEntry, 'orderEntryNo' | 'keyLabel' | 'reason' | 'actor'>

/** Reads the movements of ranges of several wallets in one statement, by wallet, oldest first. The caller bounds them. */
export async function readHashedEntries(
  db: Pick<Db, 'query'>,
  ranges: readonly EntryRange[],
): Promise<Map<string, HashedEntry[]>> {
  const rows = await db.query<Row<HashedEntry> & { tenantId: string }>(sql`
    select w.tenant_id, e.wallet_version, e.created_at, e.kind, e.to_account, e.amount, e.balance_after, e.order_id, e.transaction_id,
           e.topped_up_profile_id, e.item_no, e.reference
    from unnest(${ranges.map(({ tenantId }) => tenantId)}::uuid[], ${ranges.map(({ first }) => first)}::bigint[],
                ${ranges.map(({ last }) => last)}::bigint[]) as w (tenant_id, first, last),
         lateral (${entriesQuery(raw('w.tenant_id'), raw('and wallet_version between w.first and w.last'))}) as e`)
  const entries = new Map<string, HashedEntry[]>(ranges.map(({ tenantId }) => [tenantId, []]))
  for (const row of rows) entries.get(row.tenantId)!.push(entryOf(row))
  return entries
}

/** Reads all movements of a range, oldest first. The caller bounds it. */
export async function readEntries(
  db: Pick<Db, 'query'>,
  tenantId: string,
  { from, to }: VersionRange,
): Promise<StatementEntry[]> {
  const range = sql`and wallet_version >= ${from} and wallet_version < ${to} order by wallet_version`
  return (await db.query<Row>(entriesQuery(tenantId, range))).map((row) => entryOf(row))
}

/** Repeats the condition of the partial index on kinds other than orders, so that the planner can always use it. */
function ofKind(kind: TransferKind | undefined): Sql {
  if (kind === undefined) return empty
  return kind === 'ORDER' ? sql`and kind = 'ORDER'` : sql`and kind = ${kind} and kind <> 'ORDER'`
}

/**
 * Selects movements and joins their orders' transactionIds with one index scan. One look-up per movement read three to five
 * pages each, and more as the number of orders grows.
 */
function entriesQuery(tenantId: string | Sql, condition: Sql): Sql {
  const id = typeof tenantId === 'string' ? sql`${requireUuid(tenantId, 'tenant')}` : tenantId
  return sql`
    with entries as materialized (
      select * from transfers where tenant_id = ${id} ${condition}
    ), named as materialized (
      select order_id, coalesce(sent ->> 'transactionId', transaction_id) as transaction_id, topped_up_profile_id, wallet_version,
             sent -> 'key' ->> 'label' as key_label
      from orders
      where tenant_id = ${id} and order_id = any (array(select order_id from entries))
    )
    select t.wallet_version, t.created_at, t.kind, t.to_account,
           t.amount, t.balance_after, t.order_id, o.wallet_version as order_entry_no, o.transaction_id,
           o.topped_up_profile_id, o.key_label, t.item_no, t.reference, t.reason, t.actor
    from entries t left join named o on o.order_id = t.order_id
    order by t.wallet_version`
}

type Row<Entry = StatementEntry> = Omit<Entry, 'orderNo'> & Moved

interface Moved {
  toAccount: string
  amount: bigint
  orderId: string | null
}

function entryOf<Read extends Moved>({ toAccount, orderId, ...row }: Read) {
  return { ...row, amount: toAccount === 'WALLET' ? row.amount : -row.amount, orderNo: orderId && orderNoOf(orderId) }
}
