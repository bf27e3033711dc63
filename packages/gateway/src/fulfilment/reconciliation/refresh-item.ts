import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { SuppliedEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { applyReports } from '#esims/apply-reports.ts'
import { decryptSecrets } from '#esims/profile-secrets.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { isHeld } from '#platform/held-tenants.ts'
import type { AskedItem } from '#suppliers/supplier-questions.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { acceptFound } from '../outcomes/save-outcomes.ts'
import { readEsimsOfTopUps } from '../outcomes/top-up-orders.ts'
import { askNow } from './ask-now.ts'

interface ItemRow {
  productCode: string
  reference: string | null
  itemStatus: string
  profileId: string | null
  iccid: string | null
  secrets: Buffer | null
}

/**
 * Queries a supplier about an item that it reported as changed. An item in doubt is retried now; a refused or cancelled
 * item may have received an eSIM (an orphan); the status and usage of a delivered eSIM are updated. Ignores items of other
 * suppliers.
 */
export async function refreshItem(deps: FulfilmentDeps, supplied: ConfiguredSupplier, asked: AskedItem): Promise<void> {
  const { tenantId, orderId, itemNo } = asked
  const [row] = await deps.db.query<ItemRow>({
    name: 'fulfilment-refresh',
    text: `select i.product_code, i.item_status, p.profile_id, p.iccid, p.secrets,
             ${latestReference({ tenantId: 'i.tenant_id', orderId: 'i.order_id', itemNo: 'i.item_no', supplier: 'i.supplier' })} as reference
           from order_items i
           left join profiles p on p.tenant_id = i.tenant_id and p.order_id = i.order_id and p.item_no = i.item_no
           where i.tenant_id = $1 and i.order_id = $2 and i.item_no = $3 and i.supplier = $4
             and not ${isHeld('i.tenant_id')}`,
    values: [tenantId, orderId, itemNo, supplied.supplier.name],
  })
  if (row === undefined) return
  const key = itemKeyOf(orderId, itemNo)
  const item = { tenantId, orderId, itemNo, productCode: row.productCode, reference: row.reference ?? undefined }
  switch (row.itemStatus) {
    case 'UNKNOWN':
    case 'REVIEW':
      await askNow(deps, { tenantId, orderId, itemNo })
      return
    case 'DELIVERED': {
      if (row.profileId === null || supplied.supplier.report === undefined) return
      const { matchingId } = decryptSecrets(deps.cipher, tenantId, row.secrets!)
      const esim: SuppliedEsim = { ...item, key, iccid: row.iccid!, matchingId, shown: true }
      const [outcome] = await supplied.supplier.report([esim])
      if (outcome?.kind !== 'reported') return
      await applyReports(deps, tenantId, [{ orderId, profileId: row.profileId, report: outcome.report }])
      return
    }
    case 'REFUSED':
    case 'CANCELLED': {
      const topUp = (await readEsimsOfTopUps(deps.db, deps.cipher, tenantId, [orderId])).get(orderId)?.esim
      const [outcome] = await supplied.supplier.query([{ ...item, key, topUp }], 'CHECK')
      await acceptFound(deps, tenantId, { orderId, itemNo, supplier: supplied.supplier.name }, outcome)
      return
    }
    default: // WAITING, ASKED: fulfilment is handling the item
  }
}
