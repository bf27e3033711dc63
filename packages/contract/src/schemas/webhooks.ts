import Type, { type Static } from 'typebox'
import {
  CALLBACK_URL_LENGTH_MAX,
  EXPIRY_NOTICE_HOURS_DEFAULT,
  EXPIRY_NOTICE_MAX_HOURS,
  EXPIRY_NOTICES_MAX,
  USAGE_THRESHOLDS_DEFAULT,
  USAGE_THRESHOLDS_MAX,
} from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { actionAnswer } from './actions.ts'
import {
  ESIM_STATUSES,
  EVENT_TYPES,
  ORDER_STATUSES,
  ORDER_TYPES,
  SMDP_STATUSES,
  TEST_FAILURES,
} from './enumerations.ts'
import { CLOSED, currencyCode, money, nullable, price, quantity, time, transactionIdOfEvent } from './scalars.ts'

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
    usageThresholds: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
        maxItems: USAGE_THRESHOLDS_MAX,
        description: `Percentages of usage at which ESIM_USAGE is sent; ${USAGE_THRESHOLDS_DEFAULT.join(', ')} by default.`,
      }),
    ),
    expiryNoticeHours: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: EXPIRY_NOTICE_MAX_HOURS }), {
        maxItems: EXPIRY_NOTICES_MAX,
        description: `Hours before expiry at which ESIM_EXPIRING is sent; ${EXPIRY_NOTICE_HOURS_DEFAULT.join(', ')} by default.`,
      }),
    ),
  },
  CLOSED,
)
export type WebhookSetRequest = Static<typeof webhookSetRequest>

export const webhookSetAnswer = Type.Object({
  callbackUrl: nullable(Type.String()),
  eventTypes: Type.Array(Type.Enum(EVENT_TYPES)),
  enabled: Type.Boolean(),
  usageThresholds: Type.Array(Type.Integer(), { description: 'Ascending and distinct; empty: none.' }),
  expiryNoticeHours: Type.Array(Type.Integer(), { description: 'Ascending and distinct; empty: none.' }),
  lastUpdateTime: time(),
})
export type WebhookSetAnswer = Static<typeof webhookSetAnswer>

export const webhookTestRequest = Type.Object(
  { notifyType: Type.Enum(EVENT_TYPES, { description: 'The type of the event, subscribed or not.' }) },
  CLOSED,
)
export type WebhookTestRequest = Static<typeof webhookTestRequest>

export const webhookTestAnswer = Type.Object({
  acknowledged: Type.Boolean({ description: 'True if the receiver answered 2xx within 10 s.' }),
  httpStatus: nullable(Type.Integer({ description: "The receiver's HTTP status; null if it sent none." })),
  durationMs: quantity(),
  failure: nullable(
    Type.Enum(TEST_FAILURES, {
      description:
        'TIMEOUT: no answer within 10 s. REFUSED: no connection, or it broke. TLS: no secure connection. ADDRESS: the name cannot be resolved, or the address is not allowed. STATUS: not 2xx.',
    }),
  ),
})
export type WebhookTestAnswer = Static<typeof webhookTestAnswer>

const orderMembers = {
  orderNo: Type.String(),
  transactionId: transactionIdOfEvent(),
  orderType: Type.Enum(ORDER_TYPES),
  esimTranNo: nullable(Type.String({ description: 'The eSIM that a TOPUP adds to; null for NEW.' })),
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
  entryNo: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]*$',
      description:
        'The number of the debit in `account/statement`. Absent from events that were recorded before it existed.',
      examples: ['2'],
    }),
  ),
  packageInfoList: Type.Array(
    Type.Object({
      packageCode: Type.String(),
      packageName: Type.String(),
      count: quantity(),
      price: price(),
      periodNum: nullable(quantity()),
    }),
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

/** The eSIM and the order that delivered it, as identified in ESIM_USAGE and ESIM_EXPIRING. */
const esimMembers = {
  orderNo: Type.String(),
  transactionId: transactionIdOfEvent(),
  esimTranNo: Type.String(),
  iccid: Type.String(),
  sequence: Type.Integer({ minimum: 1, description: 'Counts the events of this type of one eSIM.' }),
}

export const esimUsageContent = Type.Object({
  ...esimMembers,
  totalVolume: quantity({ description: 'Bytes.' }),
  orderUsage: quantity({ description: 'Bytes used.' }),
  remaining: quantity({ description: 'Bytes that are left.' }),
  threshold: Type.Integer({ minimum: 1, maximum: 100, description: 'The percentage that the usage has passed.' }),
  usageUpdateTime: time(),
})
export type EsimUsageContent = Static<typeof esimUsageContent>

export const esimExpiringContent = Type.Object({
  ...esimMembers,
  expiredTime: time(),
  hours: Type.Integer({ minimum: 1, description: 'Hours before `expiredTime`, as set.' }),
})
export type EsimExpiringContent = Static<typeof esimExpiringContent>

export const balanceLowContent = Type.Object({
  balance: money(),
  availableBalance: money(),
  lowBalanceThreshold: price(),
  percent: Type.Enum([100, 75, 50, 10], { description: 'The part of the threshold that the balance is now below.' }),
  currencyCode: currencyCode(),
  lastUpdateTime: time(),
})
export type BalanceLowContent = Static<typeof balanceLowContent>

/** The body posted to a callback URL. Receivers drop a `notifyId` that they have already seen. */
const notification = <T extends string, C extends Type.TObject>(notifyType: T, content: C) =>
  Type.Object({
    notifyId: Type.String({ description: 'The same on every attempt and every replay.' }),
    notifyType: Type.Literal(notifyType),
    test: Type.Optional(
      Type.Literal(true, { description: 'Only in an event that `webhook/test` sent: its content is a sample.' }),
    ),
    mode: Type.Optional(
      Type.Literal('TEST', { description: 'Only in an event of a test twin; events of live accounts have no `mode`.' }),
    ),
    eventGenerateTime: time(),
    content,
  })

export const orderPaid = notification('ORDER_PAID', orderPaidContent)
export type OrderPaid = Static<typeof orderPaid>

export const deliveryUpdated = notification('DELIVERY_UPDATED', deliveryUpdatedContent)
export type DeliveryUpdated = Static<typeof deliveryUpdated>

export const esimUsageEvent = notification('ESIM_USAGE', esimUsageContent)
export type EsimUsageEvent = Static<typeof esimUsageEvent>

export const esimExpiring = notification('ESIM_EXPIRING', esimExpiringContent)
export type EsimExpiring = Static<typeof esimExpiring>

export const esimActionUpdated = notification('ESIM_ACTION_UPDATED', actionAnswer)
export type EsimActionUpdated = Static<typeof esimActionUpdated>

export const balanceLow = notification('BALANCE_LOW', balanceLowContent)
export type BalanceLow = Static<typeof balanceLow>

/** Sent when a URL is set or enabled, to check that it answers; never retried. */
export const checkHealth = notification('CHECK_HEALTH', Type.Object({}))
export type CheckHealth = Static<typeof checkHealth>

export const events = {
  ORDER_PAID: { summary: 'An order was debited', body: orderPaid },
  DELIVERY_UPDATED: { summary: 'An order or one of its eSIMs changed', body: deliveryUpdated },
  ESIM_USAGE: { summary: 'The usage of an eSIM passed a threshold', body: esimUsageEvent },
  ESIM_EXPIRING: { summary: 'An eSIM expires soon', body: esimExpiring },
  ESIM_ACTION_UPDATED: { summary: 'An action on an eSIM ended or is under review', body: esimActionUpdated },
  BALANCE_LOW: { summary: 'The balance fell below a part of the low-balance threshold', body: balanceLow },
  CHECK_HEALTH: { summary: 'Checks that the callback URL answers', body: checkHealth },
} as const
export type NotifyType = keyof typeof events
export type Notification =
  | OrderPaid
  | DeliveryUpdated
  | EsimUsageEvent
  | EsimExpiring
  | EsimActionUpdated
  | BalanceLow
  | CheckHealth
