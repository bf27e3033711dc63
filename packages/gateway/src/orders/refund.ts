import sql from 'sql-template-tag'
import type { Tx } from '../lib/postgres/db.ts'
import { lockWallet } from '../wallet/lock.ts'
import { post } from '../wallet/post.ts'
import type { LockedOrder } from './lock.ts'

/** What an item cost. */
export interface RefundedItem {
  itemNo: number
  amount: bigint
}

/**
 * Gives back what items of an order cost. Each item is refunded once, for ever: one that already was posts nothing, so
 * a caller may repeat. Refunds always post, whatever the limits. Moves `order` along by what was posted.
 *
 * Locks the wallet. The caller took that lock before the order's (lockWalletAndOrders; lock order: wallets, orders,
 * items), so that nobody is waited for here.
 * @param reason in plain words: why the item is not delivered.
 * @throws when the items cost more than the order did: nothing may be given back that was not debited.
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
  // Sent with the lock but read after it: each statement has its own snapshot, so this one sees all that the lock
  // waited for.
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
      -- Also where the order's status stays: who polls sees by its last update that something came back.
      update orders set refunded_amount = refunded_amount + ${sum},
        updated_at = greatest(updated_at, date_trunc('milliseconds', clock_timestamp()))
      where tenant_id = ${tenantId} and order_id = ${orderId}
      returning created_at
    ), unspent as (
      -- What came back on the day that it was spent may be spent again that day.
      update wallets set spent = greatest(0, spent - ${sum}) from refunded
      where tenant_id = ${tenantId} and spent_on = (refunded.created_at at time zone 'utc')::date
    )
    select from refunded`)
  if (!found) throw new Error(`there is no order ${orderId} of tenant ${tenantId} to refund`)
  order.refundedAmount += sum
}
