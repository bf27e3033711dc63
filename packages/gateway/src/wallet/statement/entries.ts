import { orderNoOf } from '@dealer-esim/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import type { Db } from '../../lib/postgres/db.ts'
import { requireUuid } from '../../lib/refusal.ts'
import type { TransferKind } from '../ledger/post.ts'
import type { VersionRange } from './month.ts'

/** A movement as a statement shows it. */
export interface StatementEntry {
  walletVersion: bigint
  createdAt: Date
  kind: TransferKind
  /** What the wallet gained, below zero what it lost. */
  amount: bigint
  balanceAfter: bigint
  orderNo: string | null
  transactionId: string | null
  itemNo: number | null
  reference: string | null
  reason: string | null
  /** Who moved it; null: the tenant's own order, or its refund. */
  actor: string | null
}

export interface StatementPage {
  /** Newest first. */
  entries: StatementEntry[]
  /** `before` of the next page; null on the last. */
  nextBefore: bigint | null
}

export const STATEMENT_PAGE_MAX = 500

/** A page of a wallet's movements, newest first; a page costs the same wherever it lies. */
export async function statementPage(
  db: Pick<Db, 'query'>,
  tenantId: string,
  page: { before?: bigint; pageSize: number; within?: VersionRange; kind?: TransferKind | undefined },
): Promise<StatementPage> {
  const size = Math.min(page.pageSize, STATEMENT_PAGE_MAX)
  const { before, within, kind } = page
  const rows = await db.query<Row>(
    told(
      tenantId,
      sql`
      ${before === undefined ? empty : sql`and wallet_version < ${before}`}
      ${within === undefined ? empty : sql`and wallet_version >= ${within.from} and wallet_version < ${within.to}`}
      ${ofKind(kind)}
      order by wallet_version desc limit ${size + 1}`,
    ),
  )
  rows.reverse()
  const entries = rows.slice(0, size).map(entryOf)
  return { entries, nextBefore: rows.length > size ? entries[size - 1]!.walletVersion : null }
}

/** Movements of a range, all or of one kind, oldest first, a page at a time: they never change, so pages fit together. */
export async function* entriesWithin(
  db: Pick<Db, 'query'>,
  tenantId: string,
  within: VersionRange,
  kind?: TransferKind,
): AsyncGenerator<StatementEntry[]> {
  for (let from: bigint | undefined = within.from; from !== undefined && from < within.to; ) {
    const rows: Row[] = await db.query<Row>(
      told(
        tenantId,
        sql`
        and wallet_version >= ${from} and wallet_version < ${within.to} ${ofKind(kind)}
        order by wallet_version limit ${STATEMENT_PAGE_MAX}`,
      ),
    )
    yield rows.map(entryOf)
    from = rows.length < STATEMENT_PAGE_MAX ? undefined : rows.at(-1)!.walletVersion + 1n
  }
}

/** Says what the index on other kinds than orders is made for, so that it serves whatever the planner knows of them. */
function ofKind(kind: TransferKind | undefined): Sql {
  if (kind === undefined) return empty
  return kind === 'ORDER' ? sql`and kind = 'ORDER'` : sql`and kind = ${kind} and kind <> 'ORDER'`
}

/**
 * The wanted movements, oldest first, then the names of their orders by one scan of an index: a look-up for each touched
 * three to five pages, more as the orders grow.
 */
function told(tenantId: string, wanted: Sql): Sql {
  const id = requireUuid(tenantId, 'tenant')
  return sql`
    with entries as materialized (
      select * from transfers where tenant_id = ${id} ${wanted}
    ), named as materialized (
      select order_id, transaction_id from orders
      where tenant_id = ${id} and order_id = any (array(select order_id from entries))
    )
    select t.wallet_version, t.created_at, t.kind, t.to_account,
           t.amount, t.balance_after, t.order_id, o.transaction_id,
           t.item_no, t.reference, t.reason, t.actor
    from entries t left join named o on o.order_id = t.order_id
    order by t.wallet_version`
}

interface Row extends Omit<StatementEntry, 'orderNo'> {
  toAccount: string
  orderId: string | null
}

function entryOf({ toAccount, orderId, ...row }: Row): StatementEntry {
  return { ...row, amount: toAccount === 'WALLET' ? row.amount : -row.amount, orderNo: orderId && orderNoOf(orderId) }
}
