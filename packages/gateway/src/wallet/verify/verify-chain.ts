import { formatMoney, orderNoOf } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { Verification } from './verification.ts'

/** Totals of a wallet's transfers. */
export interface Chain {
  count: bigint
  sum: bigint
}

/** The last row of a page, which the next row must continue. */
interface Link {
  version: bigint
  balance: bigint
  /** As text: a JS date has no microseconds. */
  createdAt: string
}

/** Lower than any version, even a negative one that somebody has inserted. */
const LOWEST = -(2n ** 63n)
const BEFORE_TIME = '-infinity'

/** Reads a wallet's transfers in order, page by page, and checks each one and its link to the previous one. */
export async function verifyChain(tx: Tx, verification: Verification): Promise<Chain> {
  const chain: Chain = { count: 0n, sum: 0n }
  let after = LOWEST
  let link: Link = { version: 0n, balance: 0n, createdAt: BEFORE_TIME }
  for (;;) {
    verification.throwIfAborted()
    const page = await readPage(tx, verification, after, link)
    for (const row of page.faulty) reportFaults(row, verification)
    chain.count += page.count
    chain.sum += page.sum
    if (page.count < BigInt(verification.pageRows)) return chain
    link = page.last!
    after = link.version
  }
}

interface Page {
  count: bigint
  sum: bigint
  last: Link | undefined
  faulty: FaultyRow[]
}

interface FaultyRow {
  walletVersion: bigint
  versionBefore: bigint
  balanceBefore: bigint
  balanceAfter: bigint
  moved: bigint
  kind: string
  fromAccount: string
  toAccount: string
  orderId: string | null
  itemNo: number | null
  createdAt: string
  createdBefore: string
  badTime: boolean
  badAccounts: boolean
  badOrder: 'no order' | 'second debit' | null
  badRefund: 'no item' | 'amount' | 'not owed' | null
}

async function readPage(tx: Tx, { tenantId, pageRows }: Verification, after: bigint, link: Link): Promise<Page> {
  const page = sql`
    with page as materialized (
      select t.*, case when to_account = 'WALLET' then amount else -amount end as moved
      from transfers t where tenant_id = ${tenantId} and wallet_version > ${after}
      order by wallet_version limit ${pageRows}
    )`
  const totals = tx.query<TotalsRow>(sql`${page}
    select count(*), coalesce(sum(moved), 0)::bigint as sum, max(wallet_version) as version,
           (array_agg(balance_after order by wallet_version desc))[1] as balance,
           (array_agg(created_at order by wallet_version desc))[1]::text as created_at
    from page`)
  const faulty = tx.query<FaultyRow>(sql`${page}, linked as (
      select *,
        coalesce(lag(wallet_version) over by_version, ${link.version}) as version_before,
        coalesce(lag(balance_after) over by_version, ${link.balance}) as balance_before,
        coalesce(lag(created_at) over by_version, ${link.createdAt}::timestamptz) as created_before
      from page window by_version as (order by wallet_version)
    ), checked as (
      select l.*,
        l.created_at < l.created_before as bad_time,
        case l.kind
          when 'ORDER' then l.from_account = 'WALLET' and l.to_account = 'SALES'
          when 'REFUND' then l.from_account = 'REFUNDS' and l.to_account = 'WALLET'
          when 'ESIM_TOPUP' then l.from_account = 'WALLET' and l.to_account = 'SALES'
          when 'TOP_UP' then l.from_account = 'TOP_UPS' and l.to_account = 'WALLET'
          when 'ADJUSTMENT' then 'ADJUSTMENTS' in (l.from_account, l.to_account)
                             and 'WALLET' in (l.from_account, l.to_account)
          else false
        end is not true as bad_accounts,
        case when l.kind not in ('ORDER', 'ESIM_TOPUP') then null
             when o.order_id is null then 'no order'
             when o.wallet_version <> l.wallet_version then 'second debit'
        end as bad_order,
        case when l.kind <> 'REFUND' then null
             when i.item_no is null then 'no item'
             when i.price - coalesce(p.fee_amount, 0) <> l.amount then 'amount'
             when i.item_status not in ('REFUSED', 'CANCELLED') and p.esim_status is distinct from 'CANCEL'
               then 'not owed'
        end as bad_refund
      from linked l
      -- The limits make the planner look up each row in a primary key instead of hashing whole tables once per page.
      left join lateral (
        select order_id, wallet_version from orders
        where l.kind in ('ORDER', 'ESIM_TOPUP') and tenant_id = ${tenantId} and order_id = l.order_id limit 1
      ) o on true
      left join lateral (
        select item_no, price, item_status from order_items
        where l.kind = 'REFUND' and tenant_id = ${tenantId} and order_id = l.order_id and item_no = l.item_no limit 1
      ) i on true
      left join lateral (
        select esim_status, (
            -- The fee of a cancelled eSIM's cancel is kept.
            select fee_amount from esim_actions a
            where a.tenant_id = ${tenantId} and a.profile_id = profiles.profile_id and action = 'CANCEL'
              and action_status = 'DONE' limit 1) as fee_amount
        from profiles
        where l.kind = 'REFUND' and tenant_id = ${tenantId} and order_id = l.order_id and item_no = l.item_no limit 1
      ) p on true
    )
    select wallet_version, version_before, balance_before, balance_after, moved, kind, from_account, to_account,
           order_id, item_no, created_at::text, created_before::text, bad_time, bad_accounts, bad_order, bad_refund
    from checked
    where wallet_version <> version_before + 1 or balance_after <> balance_before + moved
       or bad_time or bad_accounts or bad_order is not null or bad_refund is not null
    order by wallet_version`)
  const [[row], rows] = await Promise.all([totals, faulty])
  const { count, sum, version, balance, createdAt } = row!
  return { count, sum, faulty: rows, last: version === null ? undefined : { version, balance, createdAt } }
}

interface TotalsRow {
  count: bigint
  sum: bigint
  version: bigint | null
  balance: bigint
  createdAt: string
}

/** One row may have several faults. */
function reportFaults(row: FaultyRow, { report }: Verification): void {
  const at = `Transfer ${row.walletVersion}`
  if (row.walletVersion !== row.versionBefore + 1n) {
    report('GAP', `${at} follows ${row.versionBefore}: the versions between them are missing.`)
  }
  if (row.balanceAfter !== row.balanceBefore + row.moved) {
    const [left, moved, before] = [row.balanceAfter, row.moved, row.balanceBefore].map(formatMoney)
    report('CHAIN', `${at} moves ${moved} after a balance of ${before} but records a balance of ${left}.`)
  }
  if (row.badTime) report('TIME', `${at} is dated ${row.createdAt}, before the previous one (${row.createdBefore}).`)
  if (row.badAccounts) {
    report('ACCOUNTS', `${at} has the kind ${row.kind} but moves from ${row.fromAccount} to ${row.toAccount}.`)
  }
  const order = row.orderId === null ? 'no order' : `order ${orderNoOf(row.orderId)}`
  if (row.badOrder === 'no order') report('ORDER', `${at} debits ${order}, which does not exist.`)
  if (row.badOrder === 'second debit') {
    report('ORDER', `${at} debits ${order}, which refers to another transfer as its debit.`)
  }
  const refund = `${at} refunds item ${row.itemNo} of ${order}`
  if (row.badRefund === 'no item') report('REFUND', `${refund}, which does not exist.`)
  if (row.badRefund === 'amount')
    report(
      'REFUND',
      `${refund} with ${formatMoney(row.moved)}, which is not the item's price less the fee of its cancel.`,
    )
  if (row.badRefund === 'not owed') report('REFUND', `${refund}, which was neither refused nor cancelled.`)
}
