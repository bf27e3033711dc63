import { type EVENT_HEADERS, formatTime, type REQUEST_HEADERS } from '@dealer-esim/contract'
import { signEvent, signRequest } from '@dealer-esim/contract/node'
import type { OutboundOutcome } from '../../lib/outbound/outbound.ts'
import type { Tenant } from '../../tenants/tenant.ts'
import { getPreparedSecret } from '../../tenants/tenant.ts'
import type { WebhookDeps } from '../deps.ts'
import { ANSWER_READ_BYTES } from '../limits.ts'

export type Signer = Pick<Tenant, 'appKey' | 'secrets'>

export interface Notification {
  notifyId: string
  notifyType: string
  createdAt: Date
  /** JSON text, posted exactly as recorded. */
  content: string
}

export interface Attempt {
  /** Also the RT-RequestID, so that both logs identify the attempt in the same way. */
  attemptId: string
  /** By the database's clock. */
  startedAt: Date
  durationMs: number
  outcome: OutboundOutcome
}

/** Posts a notification once, signed in both schemes. A failure of the receiver is an outcome, not an error. */
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
  // None of these values needs escaping, and the content is not serialized again.
  return `{"notifyId":"${notifyId}","notifyType":"${notifyType}","eventGenerateTime":"${formatTime(createdAt)}","content":${content}}`
}

/**
 * Signs in both schemes (docs/webhooks.md). In a grace period the Standard Webhooks header carries both signatures. The
 * request scheme allows one, and uses the old secret until a request signed with the new one has arrived.
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
  const requestSecret = old !== undefined && current.provenAtMs === null ? old : current
  const timestamp = String(moment.getTime())
  const signature = signRequest(getPreparedSecret(requestSecret), { timestamp, requestId, appKey }, body)
  const event = { id: notifyId, timestampS: Math.floor(moment.getTime() / 1000) }
  const signed = signEvent(secrets.map(getPreparedSecret), event, body)
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

/** The headers are written out above: looking up names and spreading took a microsecond per event. */
type HeaderName =
  | 'content-type'
  | 'user-agent'
  | (typeof REQUEST_HEADERS)[keyof typeof REQUEST_HEADERS]
  | (typeof EVENT_HEADERS)[keyof typeof EVENT_HEADERS]
