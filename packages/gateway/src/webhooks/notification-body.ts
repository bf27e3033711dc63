import { type EventFormat, formatTime } from '@dealer-esim/contract'
import type { Notification } from './delivery.ts'
import { rtBody, rtCheckHealth } from './rt-notification.ts'

/** The body that is posted; undefined where the format has no form of the event. */
export function bodyOf(format: EventFormat, notification: Notification): string | undefined {
  switch (format) {
    case 'DEALER':
      return dealerBody(notification)
    case 'RT':
      return rtBody(notification)
    default:
      return format satisfies never
  }
}

type CheckHealth = Pick<Notification, 'notifyId' | 'notifyType' | 'createdAt'>

export function checkHealthBody(format: EventFormat, notification: CheckHealth): string {
  return format === 'RT' ? rtCheckHealth(notification) : dealerBody({ ...notification, content: '{}' })
}

function dealerBody({ notifyId, notifyType, createdAt, content }: Omit<Notification, 'details'>): string {
  // None of these values needs escaping, and the content is not serialized again.
  return `{"notifyId":"${notifyId}","notifyType":"${notifyType}","eventGenerateTime":"${formatTime(createdAt)}","content":${content}}`
}
