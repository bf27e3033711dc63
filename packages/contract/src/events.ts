import Type, { type Static } from 'typebox'
import { ORDER_STATUSES } from './order-statuses.ts'
import { ESIM_STATUSES, SMDP_STATUSES } from './profiles.ts'
import { currencyCode, money, nullable, price, quantity, time } from './scalars.ts'
import { transactionIdOfEvent } from './transaction-id.ts'

const orderOfEvent = {
  orderNo: Type.String(),
  transactionId: transactionIdOfEvent(),
  orderStatus: Type.Enum(ORDER_STATUSES),
  sequence: Type.Integer({
    minimum: 1,
    description: 'Counts the events of one order. Events arrive in any order: keep the highest.',
  }),
}

export const orderPaidContent = Type.Object({
  ...orderOfEvent,
  amount: price({ description: 'What was debited' }),
  currencyCode: currencyCode(),
  balanceAfter: money(),
  packageInfoList: Type.Array(
    Type.Object({ packageCode: Type.String(), packageName: Type.String(), count: quantity(), price: price() }),
  ),
})
export type OrderPaidContent = Static<typeof orderPaidContent>

/** Never an activation code: whoever holds it takes the line over. */
export const deliveryUpdatedContent = Type.Object({
  ...orderOfEvent,
  refundedAmount: price(),
  profiles: Type.Array(
    Type.Object({
      esimTranNo: Type.String(),
      iccid: Type.String(),
      esimStatus: Type.Enum(ESIM_STATUSES),
      smdpStatus: nullable(Type.Enum(SMDP_STATUSES)),
    }),
  ),
})
export type DeliveryUpdatedContent = Static<typeof deliveryUpdatedContent>

/** What is posted to a callback URL; receivers drop a `notifyId` that they have seen. */
const notice = <T extends string, C extends Type.TObject>(notifyType: T, content: C) =>
  Type.Object({
    notifyId: Type.String({ description: 'The same on every attempt and every replay.' }),
    notifyType: Type.Literal(notifyType),
    eventGenerateTime: time(),
    content,
  })

export const orderPaid = notice('ORDER_PAID', orderPaidContent)
export type OrderPaid = Static<typeof orderPaid>

export const deliveryUpdated = notice('DELIVERY_UPDATED', deliveryUpdatedContent)
export type DeliveryUpdated = Static<typeof deliveryUpdated>

/** Sent when a URL is set or enabled, to see whether it answers; never retried. */
export const checkHealth = notice('CHECK_HEALTH', Type.Object({}))
export type CheckHealth = Static<typeof checkHealth>

export const events = {
  ORDER_PAID: { summary: 'An order was debited', body: orderPaid },
  DELIVERY_UPDATED: { summary: 'An order or one of its eSIMs changed', body: deliveryUpdated },
  CHECK_HEALTH: { summary: 'Does the callback URL answer?', body: checkHealth },
} as const
export type NotifyType = keyof typeof events
export type Notification = OrderPaid | DeliveryUpdated | CheckHealth
