import type { QueryAnswer } from '@dealer-esim/contract'
import { orderNoOf } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { getOrderWithProfiles } from '#esims/query-order.ts'
import type { ItemStatus } from '#orders/order-item.ts'
import { itemKeyOf } from '#orders/order-item.ts'

/** An order as operators see it: with supplier calls, without activation codes. */
export interface OperatorOrder extends Omit<QueryAnswer, 'profileList'> {
  tenantId: string
  itemList: OperatorItem[]
  attemptList: OperatorAttempt[]
}

export interface OperatorItem {
  itemNo: number
  /** The item's name at its supplier. */
  key: string
  itemStatus: ItemStatus
  supplier: string | null
  productCode: string | null
  cost: number | null
  costCurrency: string | null
  charged: number | null
  chargedCurrency: string | null
  failureReason: string | null
  esimTranNo: string | null
  iccid: string | null
  esimStatus: string | null
  smdpStatus: string | null
}

export interface OperatorAttempt {
  startedAt: string
  itemNo: number
  supplier: string
  operation: string
  outcome: string | null
  detail: string | null
}

/** The number of attempts shown: the newest ones. */
const ATTEMPTS_MAX = 500

export async function getOperatorOrder(
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'>; linkKey: Buffer },
  { tenantId, orderId }: { tenantId: string; orderId: string },
): Promise<OperatorOrder> {
  const links = { publicUrl: '' } // profiles and their links are left out
  const { profileList: _, ...order } = await getOrderWithProfiles({ ...deps, links }, tenantId, {
    orderNo: orderNoOf(orderId),
  })
  const items = await deps.db.query<Omit<OperatorItem, 'key'>>({
    text: `select i.item_no, i.item_status, i.supplier, i.product_code,
             i.cost::float8 as cost, i.cost_currency, i.supplier_charge::float8 as charged,
             i.supplier_charge_currency as charged_currency, i.failure_reason,
             p.profile_id as esim_tran_no, p.iccid, p.esim_status, p.smdp_status
           from order_items i left join profiles p
             on p.tenant_id = i.tenant_id and p.order_id = i.order_id and p.item_no = i.item_no
           where i.tenant_id = $1 and i.order_id = $2 order by i.item_no`,
    values: [tenantId, orderId],
  })
  const attempts = await deps.db.query<Omit<OperatorAttempt, 'startedAt'> & { startedAt: Date }>({
    text: `select started_at, item_no, supplier, operation, outcome, message as detail
           from supplier_attempts where tenant_id = $1 and order_id = $2 order by attempt_id desc limit $3`,
    values: [tenantId, orderId, ATTEMPTS_MAX],
  })
  const attemptList = attempts.map((attempt) => ({ ...attempt, startedAt: attempt.startedAt.toISOString() }))
  const itemList = items.map(({ itemNo, ...item }) => ({ itemNo, key: itemKeyOf(orderId, itemNo), ...item }))
  return { tenantId, ...order, itemList, attemptList }
}
