import { orderNoOf } from '@dealer-esim/contract'
import { audit, type By } from '../../audit/audit.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import { notFound, Refusal } from '../../lib/refusal.ts'
import { lockOrders } from '../../orders/lock.ts'
import type { CancelOutcome, SuppliedEsim } from '../../suppliers/supplier.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { withStorableMessage } from '../outcomes/items.ts'
import { watchItem } from '../outcomes/watched-items.ts'
import { findCancellableEsim, type ProfileStatus, wasNeverUsed } from './cancellable-esim.ts'
import { parseReason } from './justification.ts'
import { saveCancellation } from './save-cancellation.ts'

type Deps = Pick<FulfilmentDeps, 'db' | 'ids' | 'cipher' | 'suppliers' | 'wake' | 'clock'>

/**
 * Cancels a delivered, unused eSIM at its supplier, and refunds it only once the supplier has cancelled it. The intent is
 * committed before the call. If the answer is lost, reconciliation asks again.
 * @throws Refusal without a reason, or where the eSIM was used.
 */
export async function cancelEsim(
  deps: Deps,
  input: { tenantId: string; profileId: string; reason: string },
  by: By,
): Promise<CancelOutcome> {
  const { tenantId, profileId } = input
  const reason = parseReason(input.reason)
  const profile = await findCancellableEsim(deps, tenantId, profileId)
  if (profile === undefined) throw notFound('eSIM')
  if (!isUnused(profile)) {
    const message = `The eSIM is ${profile.smdpStatus ?? profile.esimStatus}. Only an eSIM that was never downloaded can be cancelled.`
    throw new Refusal(409, 'ESIM_IN_USE', message)
  }
  const { supplier } = profile
  const { orderId, itemNo, productCode } = profile.esim
  const attemptId = deps.ids.uuid()
  await deps.db.tx(async (tx) => {
    const { orders, now } = await lockOrders(tx, tenantId, [orderId])
    if (!orders.has(orderId)) throw notFound('order')
    watchItem(tx, tenantId, { orderId, itemNo, purpose: 'CANCEL', supplier, productCode }, now)
    tx.send({
      text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
               started_at) values ($1, $2, $3, $4, $5, 'CANCEL', $2, $6)`,
      values: [tenantId, attemptId, orderId, itemNo, supplier, now],
    })
    const after = { profileId, itemNo, reason }
    audit(tx, deps.ids, { tenantId, ...by, action: 'order.cancel_esim', subject: orderNoOf(orderId), after })
  })
  await failpoint('cancel.after-attempt')
  const outcome = await cancelAtSupplier(deps, supplier, profile.esim)
  await failpoint('cancel.after-call')
  await saveCancellation(deps, tenantId, { ...profile.esim, profileId, attemptId }, outcome)
  return outcome
}

/** Not downloaded, not in use and not expired. */
function isUnused({ esimStatus, smdpStatus }: ProfileStatus): boolean {
  return esimStatus === 'GOT_RESOURCE' && wasNeverUsed({ esimStatus, smdpStatus })
}

export async function cancelAtSupplier(
  deps: Pick<Deps, 'suppliers'>,
  name: string,
  esim: SuppliedEsim,
): Promise<CancelOutcome> {
  const supplied = deps.suppliers.get(name)
  if (supplied === undefined) return { kind: 'unknown', message: `supplier ${name} is not configured` }
  try {
    return withStorableMessage(await supplied.supplier.cancel(esim))
  } catch (error) {
    return withStorableMessage({ kind: 'unknown', message: error instanceof Error ? error.message : String(error) })
  }
}
