import type { EsimAction } from '@dealer-esim/contract'
import type { OrderDetail } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { formatMoney } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'

interface ActionOfOperator {
  action: EsimAction
  itemNo: number
  /** Its order. The console may know it from another page, so that it is there for every action. */
  order: { currencyCode: string; items: readonly Pick<OrderDetail['items'][number], 'itemNo' | 'price'>[] } | undefined
}

/** The label of the operator's button. Only that of a cancellation promises a refund. */
export function operatorSubmitText({ action, itemNo, order }: ActionOfOperator): string {
  if (action !== 'CANCEL') return dealerSubmitText(action)
  const price = order?.items.find((item) => item.itemNo === itemNo)?.price
  if (!order || price === undefined) return t.esims.cancel
  return formatMessage(t.orders.cancelAndRefund, { amount: formatMoney(price, order.currencyCode) })
}

/** The label of the dealer's button. A cancellation's refund depends on the fee. */
export function dealerSubmitText(action: EsimAction): string {
  return action === 'REVOKE' ? t.esims.revokeWithoutRefund : t.esims.actions[action]
}
