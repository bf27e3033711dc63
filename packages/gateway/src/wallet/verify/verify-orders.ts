import { formatMoney, orderNoOf } from '@dealer-esim/contract'
import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { Verification } from './verification.ts'

/**
 * Checks a tenant's orders against its transfers, page by page. For each order: its debit exists and has its amount; the
 * prices of its items add up to its amount; its refunds add up to its refunded amount and do not exceed its amount; every
 * refused or cancelled item is refunded (the refund is posted in the same transaction). Together with the checks in
 * chain.ts, this ensures that every order has exactly one debit and every debit exactly one order.
 * @returns the number of orders
 */
export async function verifyOrders(tx: Tx, verification: Verification): Promise<bigint> {
  let count = 0n
  let after = LOWEST_UUID
  for (;;) {
    verification.throwIfAborted()
    const page = await readPage(tx, verification, after)
    for (const row of page.faulty) reportFaults(row, verification)
    count += page.count
    if (page.count < BigInt(verification.pageRows)) return count
    after = page.last
  }
}

interface FaultyRow {
  orderId: string
  amount: bigint
  refundedAmount: bigint
  balanceAfter: bigint
  walletVersion: bigint
  badDebit: 'none' | 'amount' | 'balance' | null
  debitAmount: bigint | null
  debitBalance: bigint | null
  items: bigint
  refunds: bigint
  /** The sum of the prices of refused and cancelled items without a refund. */
  owed: bigint
}

async function readPage(tx: Tx, { tenantId, pageRows }: Verification, after: string) {
  const page = sql`
    with page as materialized (
      select order_id, order_type, amount, refunded_amount, balance_after, wallet_version from orders
      where tenant_id = ${tenantId} and order_id > ${after} order by order_id limit ${pageRows}
    )`
  const totals = tx.query<{ count: bigint; last: string }>(sql`${page}
    select count(*), (array_agg(order_id order by order_id desc))[1] as last from page`)
  // The limits make the planner look up each order in an index instead of hashing whole tables once per page.
  const faulty = tx.query<FaultyRow>(sql`${page}, checked as (
      select o.*, d.amount as debit_amount, d.balance_after as debit_balance, i.amount as items, i.owed, r.amount as refunds,
        case when d.amount is null then 'none'
             when d.amount <> o.amount then 'amount'
             when d.balance_after <> o.balance_after then 'balance'
        end as bad_debit
      from page o
      left join lateral (
        select amount, balance_after from transfers
        where tenant_id = ${tenantId} and wallet_version = o.wallet_version and order_id = o.order_id
          and kind = case o.order_type when 'TOPUP' then 'ESIM_TOPUP' else 'ORDER' end
        limit 1
      ) d on true
      cross join lateral (
        select coalesce(sum(amount), 0)::bigint as amount from transfers
        where tenant_id = ${tenantId} and kind = 'REFUND' and order_id = o.order_id
      ) r
      cross join lateral (
        select coalesce(sum(price), 0)::bigint as amount,
          coalesce(sum(price) filter (where item_status in ('REFUSED', 'CANCELLED') and not exists (
            select from transfers t
            where t.tenant_id = ${tenantId} and t.kind = 'REFUND' and t.order_id = o.order_id and t.item_no = each.item_no
          )), 0)::bigint as owed
        from order_items each
        where tenant_id = ${tenantId} and order_id = o.order_id
      ) i
    )
    select * from checked
    where bad_debit is not null or items <> amount or refunds <> refunded_amount or refunds > amount or owed > 0
    order by order_id`)
  const [[row], rows] = await Promise.all([totals, faulty])
  return { count: row!.count, last: row!.last, faulty: rows }
}

const money = (amount: bigint | null) => formatMoney(amount ?? 0n)

/** One order may have several faults. */
function reportFaults(row: FaultyRow, { report }: Verification): void {
  const order = `Order ${orderNoOf(row.orderId)}`
  if (row.badDebit === 'none') {
    report(
      'ORDER',
      `${order} refers to transfer ${row.walletVersion} as its debit, which is not a debit of this order.`,
    )
  }
  if (row.badDebit === 'amount') {
    report('ORDER', `${order} costs ${money(row.amount)}, but ${money(row.debitAmount)} was debited.`)
  }
  if (row.badDebit === 'balance') {
    const debit = `its debit left ${money(row.debitBalance)}`
    report('ORDER', `${order} records a balance of ${money(row.balanceAfter)}, but ${debit}.`)
  }
  if (row.items !== row.amount)
    report('ORDER', `${order} costs ${money(row.amount)}, but its items cost ${money(row.items)}.`)
  if (row.refunds !== row.refundedAmount) {
    report(
      'REFUND',
      `${order} records refunds of ${money(row.refundedAmount)}, but its refunds add up to ${money(row.refunds)}.`,
    )
  }
  if (row.owed > 0n) report('REFUND', `${order} has refused or cancelled items of ${money(row.owed)} without a refund.`)
  if (row.refunds > row.amount) {
    report('REFUND', `${order} was refunded ${money(row.refunds)}, more than its amount of ${money(row.amount)}.`)
  }
}
