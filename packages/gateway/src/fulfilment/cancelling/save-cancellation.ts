import type { Tx } from '../../lib/postgres/db.ts'
import { changeOrders } from '../../orders/change.ts'
import { lockOrders, lockWalletAndOrders } from '../../orders/lock.ts'
import { refundItems } from '../../orders/refund.ts'
import type { CancelOutcome } from '../../suppliers/supplier.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { unwatchItem } from '../outcomes/watched-items.ts'

/** Saves the outcome of a cancellation. The eSIM is refunded only where the supplier has cancelled it. May be repeated. */
export async function saveCancellation(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'wake'>,
  tenantId: string,
  cancellation: Cancellation,
  outcome: CancelOutcome,
): Promise<void> {
  await deps.db.tx((tx) => writeCancellation(tx, deps, tenantId, cancellation, outcome))
  deps.wake.wake('webhooks')
}

interface Cancellation {
  orderId: string
  itemNo: number
  profileId: string
  attemptId?: string
}

/**
 * Saves the outcome within the caller's transaction. A definite outcome ends every pending cancellation attempt of the
 * eSIM, not only the one that was answered.
 * Locks: the wallet where the eSIM is refunded, then the order.
 * @returns how many attempts got their outcome.
 */
export async function writeCancellation(
  tx: Tx,
  deps: Pick<FulfilmentDeps, 'ids'>,
  tenantId: string,
  { orderId, itemNo, profileId, attemptId }: Cancellation,
  outcome: CancelOutcome,
): Promise<number> {
  const lock = outcome.kind === 'cancelled' ? lockWalletAndOrders : lockOrders
  const { orders, now } = await lock(tx, tenantId, [orderId])
  const attempts = await tx.query({
    text: `update supplier_attempts set finished_at = coalesce(finished_at, $5), outcome = $6, message = $7
           where tenant_id = $1 and order_id = $2 and item_no = $3 and operation = 'CANCEL' and
             case when $6 = 'unknown' then attempt_id = $4 and outcome is null
             else outcome is null or outcome = 'unknown' end
           returning 1`,
    values: [
      tenantId,
      orderId,
      itemNo,
      attemptId ?? null,
      now,
      outcome.kind,
      'message' in outcome ? outcome.message : null,
    ],
  })
  if (outcome.kind === 'unknown') return attempts.length
  unwatchItem(tx, tenantId, { orderId, itemNo, purpose: 'CANCEL' })
  const order = orders.get(orderId)
  const profile = order?.profiles.find((candidate) => candidate.profileId === profileId)
  if (outcome.kind !== 'cancelled' || !order || !profile || profile.esimStatus === 'CANCEL') return attempts.length
  const item = order.items.find((candidate) => candidate.itemNo === itemNo)!
  profile.esimStatus = 'CANCEL'
  tx.send({
    text: `update profiles set esim_status = 'CANCEL', updated_at = $3 where tenant_id = $1 and profile_id = $2`,
    values: [tenantId, profileId, now],
  })
  const items = [{ itemNo, amount: item.price }]
  await refundItems(tx, tenantId, order, items, 'cancelled unused by the supplier')
  changeOrders(tx, deps, tenantId, [{ order, profilesChanged: true }], now)
  return attempts.length
}
