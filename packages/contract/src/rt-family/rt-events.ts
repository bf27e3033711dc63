import Type, { type Static, type TObject } from 'typebox'
import { ESIM_STATUSES, type EventType, SMDP_STATUSES } from '#schemas/enumerations.ts'
import { nullable } from '#schemas/scalars.ts'
import { rtQuantity, rtTimeText } from './rt-scalars.ts'

/** The formats in which a tenant's events can be posted: the dealer API's and the RT family's. */
export const EVENT_FORMATS = ['DEALER', 'RT'] as const
export type EventFormat = (typeof EVENT_FORMATS)[number]

/** The event types that have an equivalent in the RT family, at least for some of their events. */
export const RT_EVENT_TYPES = [
  'DELIVERY_UPDATED',
  'ESIM_USAGE',
  'ESIM_EXPIRING',
] as const satisfies readonly EventType[]

/** The members that identify an eSIM, and the order that delivered it, in the family's events. */
const esimMembers = {
  orderNo: Type.String(),
  transactionId: Type.String({ description: 'As sent with the order that delivered the eSIM.' }),
  esimTranNo: Type.String(),
  iccid: Type.String(),
}

const statusMembers = {
  esimStatus: Type.Enum(ESIM_STATUSES),
  smdpStatus: Type.Enum(SMDP_STATUSES),
}

const orderStatusContent = Type.Object({
  orderNo: Type.String(),
  transactionId: Type.String({ description: 'As sent with the order.' }),
  orderStatus: Type.Enum(['GOT_RESOURCE'], { description: 'The eSIMs are there: fetch them with `esim/query`.' }),
})

const checkHealthContent = Type.Object({
  orderNo: Type.String(),
  orderStatus: Type.Enum(['Test']),
})

const smdpEventContent = Type.Object({
  eid: nullable(Type.String({ description: 'Of the device; null while it is unknown.' })),
  ...esimMembers,
  ...statusMembers,
  timestamp: rtTimeText({ description: 'When the change was recorded.' }),
  seqNumber: rtQuantity({ description: 'Counts the events about the order. A later event has a higher number.' }),
  notifyStatus: Type.Enum(['Executed-Success'], { description: 'What failed causes no event.' }),
})

const esimStatusContent = Type.Object({
  ...esimMembers,
  ...statusMembers,
  totalVolume: Type.Optional(rtQuantity({ description: 'Bytes; absent if it is unlimited or was not known.' })),
  orderUsage: Type.Optional(rtQuantity({ description: 'Bytes used; absent if it was not known.' })),
  remainVolume: Type.Optional(rtQuantity({ description: 'Bytes that are left; absent without totalVolume.' })),
})

const dataUsageContent = Type.Object({
  ...esimMembers,
  totalVolume: rtQuantity({ description: 'Bytes.' }),
  orderUsage: rtQuantity({ description: 'Bytes used.' }),
  remain: rtQuantity({ description: 'Bytes that are left.' }),
  lastUpdateTime: rtTimeText(),
  remainThreshold: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'The part of the volume that is left: 0.2 at 80 % used.',
  }),
})

const validityUsageContent = Type.Object({
  orderNo: Type.String(),
  transactionId: esimMembers.transactionId,
  iccid: Type.String(),
  durationUnit: Type.Enum(['DAY']),
  totalDuration: rtQuantity({ description: 'Days.' }),
  expiredTime: rtTimeText(),
  remain: rtQuantity({ description: 'Days that are left, rounded up.' }),
})

const notification = <Content extends TObject>(notifyType: string, content: Content) =>
  Type.Object({
    notifyType: Type.Enum([notifyType]),
    eventGenerateTime: rtTimeText(),
    notifyId: Type.String({ description: 'The same on every attempt and every replay.' }),
    content,
  })

/** The events of the RT family, for tenants that have chosen its format. */
export const rtEvents = {
  ORDER_STATUS: { summary: 'The eSIMs of an order are there', body: notification('ORDER_STATUS', orderStatusContent) },
  SMDP_EVENT: { summary: 'The smdpStatus of an eSIM changed', body: notification('SMDP_EVENT', smdpEventContent) },
  ESIM_STATUS: { summary: 'The esimStatus of an eSIM changed', body: notification('ESIM_STATUS', esimStatusContent) },
  DATA_USAGE: {
    summary: 'The usage of an eSIM passed a threshold',
    body: notification('DATA_USAGE', dataUsageContent),
  },
  VALIDITY_USAGE: { summary: 'An eSIM expires soon', body: notification('VALIDITY_USAGE', validityUsageContent) },
  CHECK_HEALTH: {
    summary: 'Checks that the callback URL answers',
    body: notification('CHECK_HEALTH', checkHealthContent),
  },
} as const

export type RtNotifyType = keyof typeof rtEvents
export type RtContent<Name extends RtNotifyType> = Static<(typeof rtEvents)[Name]['body']>['content']
