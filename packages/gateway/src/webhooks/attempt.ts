import { type EVENT_HEADERS, formatTime, type REQUEST_HEADERS } from '@dealer-esim/contract'
import { signEvent, signRequest } from '@dealer-esim/contract/node'
import type { OutboundOutcome } from '../lib/outbound/outbound.ts'
import type { Tenant } from '../tenants/load.ts'
import { prepared } from '../tenants/prepared-secret.ts'
import type { WebhookDeps } from './deps.ts'
import { ANSWER_READ_BYTES } from './limits.ts'

export type Signer = Pick<Tenant, 'appKey' | 'secrets'>

export interface Notification {
  notifyId: string
  notifyType: string
  createdAt: Date
  /** JSON text, posted as it was recorded. */
  content: string
}

export interface Attempt {
  /** Also the RT-RequestID, so that a receiver's log and ours name the attempt alike. */
  attemptId: string
  /** By the database's clock. */
  startedAt: Date
  durationMs: number
  outcome: OutboundOutcome
}

/** Posts a notification once, signed in both schemes. A receiver's failure is data. */
export async function attemptDelivery(
  deps: Pick<WebhookDeps, 'ids' | 'clock' | 'databaseClock' | 'outbound' | 'config'>,
  url: string,
  signer: Signer,
  notification: Notification,
  timeoutMs: number,
): Promise<Attempt> {
  const attemptId = deps.ids.uuid()
  const startedAt = new Date(deps.databaseClock.now())
  const body = Buffer.from(bodyOf(notification))
  const began = deps.clock.monotonic()
  const outcome = await deps.outbound.request({
    url,
    method: 'POST',
    headers: signedHeaders(signer, notification.notifyId, attemptId, startedAt, body),
    body,
    timeoutMs,
    answerSizeMaxBytes: ANSWER_READ_BYTES,
    allowPrivate: deps.config.deployment === 'local',
  })
  return { attemptId, startedAt, durationMs: Math.round(deps.clock.monotonic() - began), outcome }
}

function bodyOf({ notifyId, notifyType, createdAt, content }: Notification): string {
  // None of these needs an escape, and the content stays byte for byte what was recorded.
  return `{"notifyId":"${notifyId}","notifyType":"${notifyType}","eventGenerateTime":"${formatTime(createdAt)}","content":${content}}`
}

/**
 * Both schemes of contract §7. In a grace period the Standard Webhooks header carries both signatures; the request
 * scheme has room for one and stays with the old secret until a request signed with the new one has arrived.
 */
export function signedHeaders(
  { appKey, secrets }: Signer,
  notifyId: string,
  requestId: string,
  moment: Date,
  body: string | Buffer,
): Record<string, string> {
  const [current, old] = secrets
  if (!current) throw new Error('a tenant without a secret')
  const known = old !== undefined && current.provenAtMs === null ? old : current
  const timestamp = String(moment.getTime())
  const signature = signRequest(prepared(known), { timestamp, requestId, appKey }, body)
  const event = { id: notifyId, timestampS: Math.floor(moment.getTime() / 1000) }
  const signed = signEvent(secrets.map(prepared), event, body)
  return {
    'content-type': 'application/json',
    'user-agent': 'Dealer-eSIM-Gateway/1',
    'RT-AccessCode': appKey,
    'RT-RequestID': requestId,
    'RT-Timestamp': timestamp,
    'X-Signature': signature,
    'webhook-id': signed['webhook-id'],
    'webhook-timestamp': signed['webhook-timestamp'],
    'webhook-signature': signed['webhook-signature'],
  } satisfies Record<HeaderName, string>
}

/** Spelt out where they are set: names looked up and a spread took a microsecond of each event. */
type HeaderName =
  | 'content-type'
  | 'user-agent'
  | (typeof REQUEST_HEADERS)[keyof typeof REQUEST_HEADERS]
  | (typeof EVENT_HEADERS)[keyof typeof EVENT_HEADERS]
