import { type Columns, NULL, plainArray, textArray, timeArray, unnest, uuidArray } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import type { LockedItem } from '../../orders/lock.ts'
import type { Charge } from '../../suppliers/supplier.ts'

/** Writes the changeable columns of items whose orders the caller has locked. Adds no round trip. */
export function writeItems(tx: Tx, tenantId: string, items: { orderId: string; item: LockedItem }[], now: Date): void {
  if (items.length === 0) return
  for (const { item } of items) item.updatedAt = now
  const values = [
    tenantId,
    uuidArray(items.map(({ orderId }) => orderId)),
    plainArray(items.map(({ item }) => item.itemNo)),
    plainArray(items.map(({ item }) => item.itemStatus)),
    plainArray(items.map(({ item }) => item.routeNo)),
    textArray(items.map(({ item }) => item.supplier)),
    textArray(items.map(({ item }) => item.productCode)),
    plainArray(items.map(({ item }) => item.cost ?? NULL)),
    plainArray(items.map(({ item }) => item.costCurrency ?? NULL)),
    plainArray(items.map(({ item }) => item.supplierCharge ?? NULL)),
    plainArray(items.map(({ item }) => item.supplierChargeCurrency ?? NULL)),
    plainArray(items.map(({ item }) => item.attempts)),
    timeArray(items.map(({ item }) => item.requestedAt?.getTime() ?? null)),
    timeArray(items.map(({ item }) => item.inDoubtAt?.getTime() ?? null)),
    textArray(items.map(({ item }) => item.failureReason)),
    timeArray(items.map(({ item }) => item.retryAt?.getTime() ?? null)),
    now,
  ]
  tx.send({ name: 'fulfilment-write-items', text: WRITE, values })
}

/** The key of an item in its tenant, and its changeable columns. */
const ITEM: Columns = {
  order_id: 'uuid',
  item_no: 'smallint',
  item_status: 'text',
  route_no: 'smallint',
  supplier: 'text',
  product_code: 'text',
  cost: 'bigint',
  cost_currency: 'text',
  supplier_charge: 'bigint',
  supplier_charge_currency: 'text',
  attempts: 'smallint',
  requested_at: 'timestamptz',
  in_doubt_at: 'timestamptz',
  failure_reason: 'text',
  retry_at: 'timestamptz',
}
const NOW = Object.keys(ITEM).length + 2

// None of these columns is in an index, so this is a HOT update. Each item is found by the primary key and then updated by its
// ctid: joined by its key, until the first statistics, it was planned to compare each item with all items of the dealer. The
// caller holds the order's lock, so the ctid does not change.
const WRITE = `
  update order_items i set item_status = c.item_status, route_no = c.route_no, supplier = c.supplier,
    product_code = c.product_code, cost = c.cost, cost_currency = c.cost_currency, supplier_charge = c.supplier_charge,
    supplier_charge_currency = c.supplier_charge_currency, attempts = c.attempts, requested_at = c.requested_at,
    in_doubt_at = c.in_doubt_at, failure_reason = c.failure_reason, retry_at = c.retry_at, updated_at = $${NOW}
  from ${unnest(2, ITEM, 'c')}
  cross join lateral (
    select ctid from order_items where tenant_id = $1 and order_id = c.order_id and item_no = c.item_no limit 1) found
  where i.ctid = found.ctid`

/** The charge of an item for which the supplier charged nothing, or gave the money back. */
export const NOT_CHARGED: Pick<LockedItem, 'supplierCharge' | 'supplierChargeCurrency'> = {
  supplierCharge: null,
  supplierChargeCurrency: null,
}

/** Sets the item's charge; keeps the earlier one if the supplier reports none now. */
export function setSupplierCharge(item: LockedItem, charged: Charge | undefined): void {
  if (charged === undefined) return
  item.supplierCharge = charged.amount
  item.supplierChargeCurrency = charged.currencyCode
}
