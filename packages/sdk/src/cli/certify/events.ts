import { randomUUID } from 'node:crypto'
import {
  type DeliveryUpdated,
  formatTime,
  type Notification,
  type OrderPaid,
  type OrderStatus,
  type QueryAnswer,
  REQUEST_HEADERS,
  signEvent,
  signRequest,
} from '@dealer-esim/contract'

/**
 * Events as the gateway sends them, made here from the order as it is: a gateway cannot reach the loopback address of a
 * developer's machine.
 */
export function orderPaid(order: QueryAnswer): OrderPaid {
  const { orderNo, transactionId, orderType, esimTranNo, amount, currencyCode, packageInfoList } = order
  const paid = { orderNo, transactionId, orderType, esimTranNo, orderStatus: 'PAID' as const, sequence: 1 }
  return {
    ...envelope(),
    notifyType: 'ORDER_PAID',
    content: { ...paid, amount, currencyCode, balanceAfter: 0, packageInfoList },
  }
}

export function deliveryUpdated(order: QueryAnswer, orderStatus: OrderStatus, sequence: number): DeliveryUpdated {
  const { orderNo, transactionId, orderType, esimTranNo } = order
  const isOver = orderStatus === order.orderStatus
  const profiles = order.profileList.map(({ esimTranNo, iccid, esimStatus, smdpStatus }) => {
    return { esimTranNo, iccid, esimStatus, smdpStatus }
  })
  return {
    ...envelope(),
    notifyType: 'DELIVERY_UPDATED',
    content: {
      ...{ orderNo, transactionId, orderType, esimTranNo, orderStatus, sequence },
      ...{ refundedAmount: isOver ? order.refundedAmount : 0, profiles: isOver ? profiles : [] },
    },
  }
}

function envelope() {
  return { notifyId: randomUUID(), mode: 'TEST' as const, eventGenerateTime: formatTime(new Date()) }
}

interface Signing {
  appKey: string
  /** The secrets for the Standard Webhooks headers: two in the grace period of a reset. */
  secrets: readonly string[]
  /** The secret for the request scheme. */
  requestSecret: string
  nowMs: number
}

/** Signs an event in both schemes, as the gateway does. */
export async function signedEvent(event: Notification, { appKey, secrets, requestSecret, nowMs }: Signing) {
  const body = JSON.stringify(event)
  const parts = { timestamp: String(nowMs), requestId: randomUUID(), appKey }
  const standard = await signEvent(secrets, { id: event.notifyId, timestampS: Math.floor(nowMs / 1000) }, body)
  const headers = {
    'Content-Type': 'application/json',
    ...standard,
    [REQUEST_HEADERS.appKey]: appKey,
    [REQUEST_HEADERS.requestId]: parts.requestId,
    [REQUEST_HEADERS.timestamp]: parts.timestamp,
    [REQUEST_HEADERS.signature]: await signRequest(requestSecret, parts, body),
  }
  return { headers, body }
}
