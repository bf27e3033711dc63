import {
  type DeliveryUpdatedContent,
  type EsimExpiringContent,
  type EsimUsageContent,
  type EventFormat,
  formatTime,
  type Mode,
  type RtContent,
  type RtNotifyType,
  rtTime,
} from '@dealer-esim/contract'
import type { EventDetails } from '#platform/record-events.ts'
import type { Notification } from './delivery-state.ts'

/** The body to post; undefined if the format does not include this event. */
export function bodyOf(format: EventFormat, notification: Notification, mode: Mode): string | undefined {
  const body = format === 'RT' ? rtBody(notification) : dealerBody(notification)
  return body && withMode(body, mode)
}

/** Marks an event of a test twin: `{"mode":"TEST","notifyId":…`. Events of live dealers have no such member. */
function withMode(body: string, mode: Mode): string {
  return mode === 'LIVE' ? body : `{"mode":"${mode}",${body.slice(1)}`
}

type CheckHealth = Pick<Notification, 'notifyId' | 'notifyType' | 'createdAt'>

export function checkHealthBody(format: EventFormat, notification: CheckHealth, mode: Mode): string {
  const body = format === 'RT' ? rtCheckHealth(notification) : dealerBody({ ...notification, content: '{}' })
  return withMode(body, mode)
}

function dealerBody({ notifyId, notifyType, createdAt, content }: Omit<Notification, 'details'>): string {
  // None of these values needs escaping, and `content` is already serialized.
  return `{"notifyId":"${notifyId}","notifyType":"${notifyType}","eventGenerateTime":"${formatTime(createdAt)}","content":${content}}`
}

/*
 * Events in the RT family's form (docs/coming-from-another-api.md):
 *
 *   DELIVERY_UPDATED  for one eSIM whose esimStatus changed             ESIM_STATUS
 *                     for one eSIM whose smdpStatus changed             SMDP_EVENT
 *                     otherwise, if an order's eSIMs are delivered      ORDER_STATUS
 *   ESIM_USAGE                                                          DATA_USAGE
 *   ESIM_EXPIRING                                                       VALIDITY_USAGE
 *
 * Other events do not exist in that form.
 */

/** @returns undefined if the family has no such event */
function rtBody({ notifyType, content, details, ...event }: Notification): string | undefined {
  const known = details === null ? undefined : (JSON.parse(details) as EventDetails)
  switch (notifyType) {
    case 'DELIVERY_UPDATED':
      return updateBody(event, JSON.parse(content) as DeliveryUpdatedContent, known)
    case 'ESIM_USAGE':
      return usageBody(event, JSON.parse(content) as EsimUsageContent)
    case 'ESIM_EXPIRING':
      return expiryBody(event, JSON.parse(content) as EsimExpiringContent, known)
    default:
      return undefined
  }
}

function rtCheckHealth(event: EventHead): string {
  return textOf('CHECK_HEALTH', event, { orderNo: '1234567890', orderStatus: 'Test' })
}

type EventHead = Pick<Notification, 'notifyId' | 'createdAt'>

function textOf<Name extends RtNotifyType>(notifyType: Name, event: EventHead, content: RtContent<Name>): string {
  const eventGenerateTime = rtTime(formatTime(event.createdAt))
  return JSON.stringify({ notifyType, eventGenerateTime, notifyId: event.notifyId, content })
}

function updateBody(
  event: EventHead,
  { orderNo, transactionId, orderType, orderStatus, sequence, profiles }: DeliveryUpdatedContent,
  details: EventDetails | undefined,
): string | undefined {
  const changed = details !== undefined && 'changed' in details ? details : undefined
  const profile = profiles.find(({ esimTranNo }) => esimTranNo === changed?.esimTranNo)
  if (changed && profile) {
    const { esimTranNo, iccid, esimStatus } = profile
    const smdpStatus = profile.smdpStatus ?? 'RELEASED'
    const esim = { orderNo, transactionId, esimTranNo, iccid, esimStatus, smdpStatus }
    if (changed.changed === 'esimStatus') return textOf('ESIM_STATUS', event, { ...esim, ...usageIn(changed) })
    const timestamp = rtTime(formatTime(event.createdAt))
    const notification = { timestamp, seqNumber: sequence, notifyStatus: EXECUTED }
    return textOf('SMDP_EVENT', event, { eid: changed.eid, ...esim, ...notification })
  }
  const areThere = orderType === 'NEW' && (orderStatus === 'DELIVERED' || orderStatus === 'PARTIALLY_DELIVERED')
  return areThere ? textOf('ORDER_STATUS', event, { orderNo, transactionId, orderStatus: 'GOT_RESOURCE' }) : undefined
}

/** SGP.22 §5.2.1. Notifications of failures change no status, so they cause no event. */
const EXECUTED = 'Executed-Success' as const

/** The usage recorded with a change. Events from before usage was recorded have none, and an unlimited one has no volume. */
function usageIn({ totalVolume, orderUsage }: { totalVolume?: number | null; orderUsage?: number | null }) {
  if (orderUsage === undefined) return {}
  const used = orderUsage ?? 0
  const volume = totalVolume != null && { totalVolume, remainVolume: Math.max(0, totalVolume - used) }
  return { ...volume, orderUsage: used }
}

function usageBody(event: EventHead, content: EsimUsageContent): string {
  const { orderNo, transactionId, esimTranNo, iccid, totalVolume, orderUsage, remaining, threshold } = content
  return textOf('DATA_USAGE', event, {
    ...{ orderNo, transactionId, esimTranNo, iccid, totalVolume, orderUsage },
    remain: remaining,
    lastUpdateTime: rtTime(content.usageUpdateTime),
    remainThreshold: (100 - threshold) / 100,
  })
}

function expiryBody(
  event: EventHead,
  { orderNo, transactionId, iccid, expiredTime, hours }: EsimExpiringContent,
  details: EventDetails | undefined,
): string {
  const remain = Math.ceil(hours / 24)
  return textOf('VALIDITY_USAGE', event, {
    ...{ orderNo, transactionId, iccid },
    durationUnit: 'DAY',
    totalDuration: details !== undefined && 'totalDuration' in details ? details.totalDuration : remain,
    expiredTime: rtTime(expiredTime),
    remain,
  })
}
