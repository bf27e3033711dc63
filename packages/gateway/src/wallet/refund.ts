import sql from 'sql-template-tag'
import type { Tx } from '../lib/db.ts'
import { lockWallet } from './lock.ts'
import { post } from './post.ts'

export interface Refund {
  tenantId: string
  orderId: string
  /** What each item cost. */
  items: { itemNo: number; amount: bigint }[]
  /** In plain words: why the item is not delivered. */
  reason: string
}

/**
 * Gives back what items of an order cost. Each item is refunded once, for ever: one that already was posts nothing, so
 * a caller may repeat. Refunds always post, whatever the limits.
 *
 * Locks the wallet, then the order. The caller holds no lock of the order yet, or took the wallet's before it (lock
 * order: wallets, orders, items).
 * @throws when the items cost more than the order did: nothing may be given back that was not debited.
 */
export async function refundItems(tx: Tx, refund: Refund): Promise<void> {
  const items = refund.items.toSorted((a, b) => a.itemNo - b.itemNo)
  const locking = lockWallet(tx, refund.tenantId)
  // Sent with the lock but read after it: each statement has its own snapshot, so this one sees all that the lock
  // waited for.
  const reading = tx.query<{ item_no: number }>(sql`
    select item_no from transfers
    where tenant_id = ${refund.tenantId} and order_id = ${refund.orderId} and kind = 'REFUND'`)
  const [wallet, refunded] = await Promise.all([locking, reading])
  const done = new Set(refunded.map((row) => row.item_no))
  const owed = items.filter((item) => !done.has(item.itemNo))
  if (owed.length === 0) return
  const { tenantId, orderId, reason } = refund
  const postings = owed.map((item) => ({ kind: 'REFUND' as const, ...item, orderId, reason }))
  await post(tx, wallet, postings)
  const sum = owed.reduce((total, item) => total + item.amount, 0n)
  const [order] = await tx.query(sql`
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
  if (!order) throw new Error(`there is no order ${orderId} of tenant ${tenantId} to refund`)
}
