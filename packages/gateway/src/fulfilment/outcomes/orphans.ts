import { stripIccidPadding } from '@dealer-esim/contract'
import { notify } from '../../alerts/alerts.ts'
import type { Cipher } from '../../lib/crypto.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { encryptEsimSecrets } from '../../profiles/insert.ts'
import type { DeliveredEsim } from '../../suppliers/supplier.ts'

/** An eSIM that came for an item that was settled without it, or has another. */
export interface Orphan {
  orderId: string
  itemNo: number
  supplier: string
  esim: DeliveredEsim
}

/**
 * Keeps an eSIM aside that came for a settled item: never shown, never debited. The reconciliation job cancels it at
 * the supplier where it can (cancel-orphans.ts). Found twice, it is kept once.
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
  notify(tx, deps.ids, {
    tenantId: null,
    kind: 'ORPHAN_ESIM',
    audience: 'OPERATOR',
    message: `${supplier} delivered eSIM ${iccid} for an item that was settled without it. It is cancelled at the supplier where that is possible; see the reconciliation report.`,
    data: { tenantId, orderId, itemNo, supplier, iccid },
  })
}
