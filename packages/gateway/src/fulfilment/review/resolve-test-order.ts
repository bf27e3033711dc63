import { orderIdOf, type TestOrderRequest } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { type ItemStatus, isOpen, itemKeyOf } from '#orders/order-item.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { saveOutcomes } from '../outcomes/save-outcomes.ts'
import { readEsimsOfTopUps } from '../outcomes/top-up-orders.ts'

/**
 * Ends an order that the sandbox has left open: first in the sandbox's own books, so that calls in progress get the same
 * answer, then the order. If the gateway stops in between, fulfilment finds the answer when it queries. An order that has
 * ended stays as it is.
 * @throws ApiError 200013; 200015 for an order that the sandbox does not deliver
 */
export async function resolveTestOrder(
  deps: FulfilmentDeps,
  tenantId: string,
  { orderNo, outcome }: TestOrderRequest,
): Promise<void> {
  const orderId = orderIdOf(orderNo)
  const items = orderId === undefined ? [] : await readItems(deps, tenantId, orderId)
  if (orderId === undefined || items.length === 0) throw new ApiError('200013')
  const catalogue = await deps.catalogue.latest()
  const routed = items.map((item) => {
    const route = catalogue.find(item.packageCode)?.routes[0]
    return { ...item, supplier: item.supplier ?? route?.supplier, productCode: item.productCode ?? route?.productCode }
  })
  const testing = (supplier = '') => deps.suppliers.get(supplier)?.supplier.testing
  if (routed.some(({ supplier }) => !testing(supplier))) throw new ApiError('200015', { data: { action: 'TEST' } })
  const open = routed.filter(({ itemStatus }) => isOpen(itemStatus) || itemStatus === 'REVIEW')
  if (open.length === 0) return
  const topUp = (await readEsimsOfTopUps(deps.db, deps.cipher, tenantId, [orderId])).get(orderId)?.esim
  for (const [supplier, own] of groupBy(open, (item) => item.supplier!)) {
    const requests = own.map(({ itemNo, productCode, periodNum }): SupplierRequest => {
      const key = itemKeyOf(orderId, itemNo)
      return { tenantId, orderId, itemNo, key, productCode: productCode!, periodNum: periodNum ?? undefined, topUp }
    })
    const outcomes = await testing(supplier)!.settle(requests, outcome)
    const results = own.map(({ itemNo, productCode }, index) => {
      return { orderId, itemNo, outcome: outcomes[index]!, supplier, decidedProduct: productCode! }
    })
    await saveOutcomes(deps, tenantId, { leaseToken: undefined }, results)
  }
}

interface ItemRow {
  itemNo: number
  itemStatus: ItemStatus
  packageCode: string
  /** null: not asked yet. */
  supplier: string | null
  productCode: string | null
  periodNum: number | null
}

/** The items of an order as they were last written: one that a supplier is being asked for may look as if it were waiting. */
async function readItems({ db }: Pick<FulfilmentDeps, 'db'>, tenantId: string, orderId: string): Promise<ItemRow[]> {
  return db.query<ItemRow>({
    name: 'fulfilment-test-items',
    text: `select i.item_no, i.item_status, i.package_code, i.supplier, i.product_code,
             (o.package_lines -> i.line_no::int ->> 'periodNum')::int as period_num
           from orders o join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
           where o.tenant_id = $1 and o.order_id = $2 order by i.item_no`,
    values: [tenantId, orderId],
  })
}
