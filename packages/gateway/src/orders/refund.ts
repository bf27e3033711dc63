import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql, { raw } from 'sql-template-tag'
import { tenantNow } from '#platform/test-time.ts'
import { lockWallet } from '#wallet/ledger/lock-wallets.ts'
import { post } from '#wallet/ledger/post.ts'
import type { LockedOrder } from './lock-orders.ts'

/** An item to refund, and its price. */
export interface RefundedItem {
  itemNo: number
  amount: bigint
}

/**
 * Refunds items of an order. An item is refunded only once: nothing is posted for an item that was already refunded, so a
 * caller may repeat the call. Refunds are posted regardless of the wallet's limits. Adds the posted sum to
 * `order.refundedAmount`. What a restricted key has debited goes back to that key's limits, too.
 *
 * Locks the wallet. The caller already holds that lock, taken before the order's (lockWalletAndOrders; lock order: wallets,
 * orders, items), so this does not wait.
 * @param reason why the item is not delivered, as text for people
 * @throws if the items cost more than the order: no more may be refunded than was debited
 */
export async function refundItems(
  tx: Tx,
  tenantId: string,
  order: LockedOrder,
  items: readonly RefundedItem[],
  reason: string,
): Promise<void> {
  const { orderId } = order
  const locking = lockWallet(tx, tenantId)
  // Sent with the lock but executed after it: each statement has its own snapshot, so this one sees every transaction
  // that the lock waited for.
  const reading = tx.query<{ itemNo: number }>(sql`
    select item_no from transfers
    where tenant_id = ${tenantId} and order_id = ${orderId} and kind = 'REFUND'`)
  const [wallet, refunded] = await Promise.all([locking, reading])
  const done = new Set(refunded.map((row) => row.itemNo))
  const owed = items.filter((item) => !done.has(item.itemNo)).sort((a, b) => a.itemNo - b.itemNo)
  if (owed.length === 0) return
  const postings = owed.map(({ itemNo, amount }) => ({ kind: 'REFUND' as const, itemNo, amount, orderId, reason }))
  await post(tx, wallet, postings)
  const sum = owed.reduce((total, item) => total + item.amount, 0n)
  const [found] = await tx.query(sql`
    with refunded as (
      -- Even if the status does not change: pollers see a refund by the time of the last update.
      update orders set refunded_amount = refunded_amount + ${sum},
        updated_at = greatest(updated_at, ${raw(tenantNow('orders.tenant_id', "date_trunc('milliseconds', clock_timestamp())"))})
      where tenant_id = ${tenantId} and order_id = ${orderId}
      returning ((status_history -> 0 ->> 'time')::timestamptz at time zone 'utc')::date as debited_on,
        (sent -> 'key' ->> 'keyId')::uuid as key_id
    ), unspent as (
      -- A refund on the day of the debit may be spent again that day.
      update wallets set spent = greatest(0, spent - ${sum}) from refunded
      where tenant_id = ${tenantId} and spent_on = debited_on
    ), unspent_by_key as (
      update tenant_keys set total_spent = greatest(0, total_spent - ${sum}),
        day_spent = case when spent_on = debited_on then greatest(0, day_spent - ${sum}) else day_spent end
      from refunded
      where tenant_id = ${tenantId} and tenant_keys.key_id = refunded.key_id
    )
    select from refunded`)
  if (!found) throw new Error(`tenant ${tenantId} has no order ${orderId} to refund`)
  order.refundedAmount += sum
}
