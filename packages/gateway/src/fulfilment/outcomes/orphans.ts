import { stripIccidPadding } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { DeliveredEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { createAlert } from '#alerts/create-alert.ts'
import { encryptEsimSecrets } from '#esims/profile-secrets.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'

/** An eSIM that a supplier delivered for an item that was closed without it, or that has a different eSIM. */
export interface Orphan {
  orderId: string
  itemNo: number
  supplier: string
  esim: DeliveredEsim
}

/**
 * Keeps the eSIM as an orphan: it is never shown and never debited. Reconciliation cancels it at the supplier if possible
 * (reconciliation/cancel-orphans.ts). An eSIM that is found twice is kept only once.
 */
export async function keepOrphan(
  tx: Tx,
  deps: { ids: Ids; cipher: Pick<Cipher, 'encrypt'> },
  tenantId: string,
  orphan: Orphan,
  now: Date,
): Promise<void> {
  const { orderId, itemNo, supplier, esim } = orphan
  const iccid = stripIccidPadding(esim.iccid)
  const [kept] = await tx.query({
    text: `insert into orphans (tenant_id, orphan_id, order_id, item_no, supplier, iccid, secrets, created_at, updated_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $8) on conflict do nothing returning orphan_id`,
    values: [
      tenantId,
      deps.ids.uuid(),
      orderId,
      itemNo,
      supplier,
      iccid,
      encryptEsimSecrets(deps.cipher, tenantId, esim),
      now,
    ],
  })
  if (kept === undefined) return
  createAlert(tx, deps.ids, {
    kind: 'ORPHAN_ESIM',
    message: `${supplier} delivered eSIM ${iccid} for an item that was closed without it. The gateway will cancel it at the supplier if possible. See the reconciliation report.`,
    data: { tenantId, orderId, itemNo, supplier, iccid },
  })
}

/** A top-up that a supplier carried out although its item has been refunded. */
export interface OrphanTopUp {
  orderId: string
  itemNo: number
  supplier: string
  /** The eSIM that was topped up. */
  profileId: string
}

/** Reports the top-up to operators, once. It cannot be undone and the eSIM belongs to the dealer, so nothing is cancelled. */
export function keepOrphanTopUp(tx: Tx, deps: { ids: Ids }, tenantId: string, orphan: OrphanTopUp, now: Date): void {
  const { orderId, itemNo, supplier, profileId } = orphan
  const message = `${supplier} topped up eSIM ${profileId} for an item that was refunded. Ask the supplier not to charge it.`
  tx.send({
    text: `with kept as (
             insert into orphans (tenant_id, orphan_id, order_id, item_no, supplier, iccid, secrets, state, message,
               created_at, updated_at)
             select $1, $2, $3, $4, $5, iccid, secrets, 'KEPT', 'a top-up after its refund', $7, $7
             from profiles where tenant_id = $1 and profile_id = $6
             on conflict do nothing returning orphan_id
           )
           insert into alerts (tenant_id, alert_id, kind, audience, message, data)
           select $8, $9, 'ORPHAN_ESIM', 'OPERATOR', $10, $11 from kept`,
    values: [
      ...[tenantId, deps.ids.uuid(), orderId, itemNo, supplier, profileId, now],
      ...[NIL_TENANT, deps.ids.uuid(), message, JSON.stringify({ tenantId, orderId, itemNo, supplier, profileId })],
    ],
  })
}
