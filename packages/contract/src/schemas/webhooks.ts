import Type, { type Static } from 'typebox'
import { CALLBACK_URL_LENGTH_MAX } from '../limits.ts'
import { EVENT_TYPES, ORDER_STATUSES } from './enumerations.ts'
import { ESIM_STATUSES, SMDP_STATUSES } from './profiles.ts'
import { CLOSED, currencyCode, money, nullable, price, quantity, time, transactionIdOfEvent } from './scalars.ts'
import { TEXT_PATTERNS } from './text-patterns.ts'

export const webhookSetRequest = Type.Object(
  {
    callbackUrl: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: CALLBACK_URL_LENGTH_MAX,
          pattern: TEXT_PATTERNS.line.pattern,
          description: 'An https URL without user name and password. Null removes it.',
          examples: ['https://dealer.example.com/esim-events'],
        }),
      ),
    ),
    eventTypes: Type.Optional(
      Type.Array(Type.Enum(EVENT_TYPES), { uniqueItems: true, description: 'The event types that are sent.' }),
    ),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)
export type WebhookSetRequest = Static<typeof webhookSetRequest>

export const webhookSetAnswer = Type.Object({
  callbackUrl: nullable(Type.String()),
  eventTypes: Type.Array(Type.Enum(EVENT_TYPES)),
  enabled: Type.Boolean(),
  lastUpdateTime: time(),
})
export type WebhookSetAnswer = Static<typeof webhookSetAnswer>

const orderMembers = {
  orderNo: Type.String(),
  transactionId: transactionIdOfEvent(),
  orderStatus: Type.Enum(ORDER_STATUSES),
  sequence: Type.Integer({
    minimum: 1,
    description: 'Counts the events of one order. Events can arrive out of order: keep the highest.',
  }),
}

export const orderPaidContent = Type.Object({
  ...orderMembers,
  amount: price({ description: 'What was debited' }),
  currencyCode: currencyCode(),
  balanceAfter: money(),
  packageInfoList: Type.Array(
    Type.Object({ packageCode: Type.String(), packageName: Type.String(), count: quantity(), price: price() }),
  ),
})
export type OrderPaidContent = Static<typeof orderPaidContent>

/** Never contains an activation code: anybody who has it can install the eSIM. */
export const deliveryUpdatedContent = Type.Object({
  ...orderMembers,
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

/** The body posted to a callback URL. Receivers drop a `notifyId` that they have already seen. */
const notification = <T extends string, C extends Type.TObject>(notifyType: T, content: C) =>
  Type.Object({
    notifyId: Type.String({ description: 'The same on every attempt and every replay.' }),
    notifyType: Type.Literal(notifyType),
    eventGenerateTime: time(),
    content,
  })

export const orderPaid = notification('ORDER_PAID', orderPaidContent)
export type OrderPaid = Static<typeof orderPaid>

export const deliveryUpdated = notification('DELIVERY_UPDATED', deliveryUpdatedContent)
export type DeliveryUpdated = Static<typeof deliveryUpdated>

/** Sent when a URL is set or enabled, to check that it answers; never retried. */
export const checkHealth = notification('CHECK_HEALTH', Type.Object({}))
export type CheckHealth = Static<typeof checkHealth>

export const events = {
  ORDER_PAID: { summary: 'An order was debited', body: orderPaid },
  DELIVERY_UPDATED: { summary: 'An order or one of its eSIMs changed', body: deliveryUpdated },
  CHECK_HEALTH: { summary: 'Checks that the callback URL answers', body: checkHealth },
} as const
export type NotifyType = keyof typeof events
export type Notification = OrderPaid | DeliveryUpdated | CheckHealth
