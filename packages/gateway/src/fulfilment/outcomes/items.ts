import { recordset } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import type { LockedItem } from '../../orders/lock.ts'
import type { Charge } from '../../suppliers/supplier.ts'

/** Writes the changeable columns of items whose orders the caller has locked. No round trip of its own. */
export function writeItems(tx: Tx, tenantId: string, items: { orderId: string; item: LockedItem }[], now: Date): void {
  if (items.length === 0) return
  for (const { item } of items) item.updatedAt = now
  const rows = items.map(({ orderId, item }) => ({
    orderId,
    itemNo: item.itemNo,
    itemStatus: item.itemStatus,
    routeNo: item.routeNo,
    supplier: item.supplier,
    productCode: item.productCode,
    cost: item.cost === null ? null : String(item.cost),
    costCurrency: item.costCurrency,
    supplierCharge: item.supplierCharge === null ? null : String(item.supplierCharge),
    supplierChargeCurrency: item.supplierChargeCurrency,
    attempts: item.attempts,
    requestedAt: item.requestedAt,
    inDoubtAt: item.inDoubtAt,
    failureReason: item.failureReason,
    retryAt: item.retryAt,
  }))
  tx.send({ name: 'fulfilment-write-items', text: WRITE, values: [tenantId, recordset(rows), now] })
}

// None of these columns is in an index: a HOT update.
const WRITE = `
  update order_items i set item_status = c.item_status, route_no = c.route_no, supplier = c.supplier,
    product_code = c.product_code, cost = c.cost, cost_currency = c.cost_currency, supplier_charge = c.supplier_charge,
    supplier_charge_currency = c.supplier_charge_currency, attempts = c.attempts, requested_at = c.requested_at,
    in_doubt_at = c.in_doubt_at, failure_reason = c.failure_reason, retry_at = c.retry_at, updated_at = $3
  from jsonb_to_recordset($2::jsonb) as c(order_id uuid, item_no smallint, item_status text, route_no smallint,
    supplier text, product_code text, cost bigint, cost_currency text, supplier_charge bigint,
    supplier_charge_currency text, attempts smallint, requested_at timestamptz, in_doubt_at timestamptz, failure_reason text,
    retry_at timestamptz)
  where i.tenant_id = $1 and i.order_id = c.order_id and i.item_no = c.item_no`

/** The supplier charged nothing for the item, or gave it back. */
export const NOT_CHARGED: Pick<LockedItem, 'supplierCharge' | 'supplierChargeCurrency'> = {
  supplierCharge: null,
  supplierChargeCurrency: null,
}

/** Keeps the earlier charge where the supplier reports none now. */
export function setSupplierCharge(item: LockedItem, charged: Charge | undefined): void {
  if (charged === undefined) return
  item.supplierCharge = charged.amount
  item.supplierChargeCurrency = charged.currencyCode
}
