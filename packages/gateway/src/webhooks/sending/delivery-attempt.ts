import type { EVENT_HEADERS, EventFormat, REQUEST_HEADERS } from '@dealer-esim/contract'
import { signEvent, signRequest } from '@dealer-esim/contract/node'
import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { createAttemptId } from '#platform/attempt-id.ts'
import type { Tenant } from '#tenants/tenant.ts'
import { getPreparedSecret } from '#tenants/tenant.ts'
import type { Notification } from '../delivery-state.ts'
import type { WebhookDeps } from '../webhook-deps.ts'
import { ANSWER_READ_BYTES, RETRY_AFTER_MAX_STEPS, RETRY_STEPS_MS, SENDABLE_DAYS } from '../webhook-limits.ts'

export type Signer = Pick<Tenant, 'appKey' | 'secrets'>

export interface Attempt {
  /** Also the RT-RequestID, so that both logs identify the attempt in the same way. */
  attemptId: string
  /** By the database's clock. */
  startedAt: Date
  durationMs: number
  outcome: OutboundOutcome
  /** undefined: nothing was signed. */
  signatureStarts?: string
}

/**
 * Posts a notification once, signed with both schemes. A failure of the receiver is an outcome, not an error.
 * @param text the notification in the tenant's format (notification-body.ts)
 */
export async function attemptDelivery(
  deps: Pick<WebhookDeps, 'ids' | 'linkKey' | 'clock' | 'databaseClock' | 'outbound' | 'config'>,
  { url, eventFormat }: { url: string; eventFormat: EventFormat },
  signer: Signer,
  { notifyId }: Pick<Notification, 'notifyId'>,
  text: string,
  timeoutMs: number,
): Promise<Attempt> {
  const attemptId = createAttemptId(deps)
  const startedAt = new Date(deps.databaseClock.now())
  const body = Buffer.from(text)
  const headers = signedHeaders(signer, notifyId, attemptId, startedAt, body, eventFormat)
  const began = deps.clock.monotonic()
  const outcome = await deps.outbound.request({
    url,
    method: 'POST',
    headers,
    body,
    timeoutMs,
    answerSizeMaxBytes: ANSWER_READ_BYTES,
    allowPrivate: deps.config.deployment === 'local',
  })
  const durationMs = Math.round(deps.clock.monotonic() - began)
  return { attemptId, startedAt, durationMs, outcome, signatureStarts: signatureStarts(headers) }
}

/**
 * Enough to compare with a receiver's own signature. With a whole signature, anyone who can read the log could repeat the
 * request.
 */
const SIGNATURE_SHOWN_LENGTH = 8

/**
 * The beginnings of X-Signature and of each signature in webhook-signature, separated by spaces; `RT` at the end means that
 * RT-Signature was sent too.
 */
function signatureStarts(headers: SignedHeaders): string {
  let starts = headers['X-Signature'].slice(0, SIGNATURE_SHOWN_LENGTH)
  for (const signature of headers['webhook-signature'].split(' ')) {
    starts += ` ${signature.slice(0, EVENT_SIGNATURE_VERSION.length + SIGNATURE_SHOWN_LENGTH)}`
  }
  return headers['RT-Signature'] === undefined ? starts : `${starts} ${WITH_RT_SIGNATURE}`
}

const WITH_RT_SIGNATURE = 'RT'
const EVENT_SIGNATURE_VERSION = 'v1,'

/** The headers of a logged attempt, as far as they are kept: only the first characters of signatures. */
export function loggedHeaders(
  appKey: string,
  { attemptId, notifyId, startedAt, signatureStarts }: LoggedHeaders,
): [name: string, value: string][] {
  const [requestSignature, ...others] = signatureStarts?.split(' ') ?? []
  if (requestSignature === undefined) return []
  const masked = (start: string) => `${start}…`
  const eventSignatures = others.filter((start) => start !== WITH_RT_SIGNATURE)
  const isInRtFormat = eventSignatures.length < others.length
  return Object.entries({
    'content-type': CONTENT_TYPE,
    'user-agent': USER_AGENT,
    'RT-AccessCode': appKey,
    'RT-RequestID': attemptId,
    'RT-Timestamp': String(startedAt.getTime()),
    'X-Signature': masked(requestSignature),
    ...(isInRtFormat && { 'RT-Signature': masked(requestSignature) }),
    'webhook-id': notifyId,
    'webhook-timestamp': String(Math.floor(startedAt.getTime() / 1000)),
    'webhook-signature': eventSignatures.map(masked).join(' '),
  } satisfies SignedHeaders)
}

interface LoggedHeaders {
  attemptId: string
  notifyId: string
  startedAt: Date
  signatureStarts: string | null
}

const CONTENT_TYPE = 'application/json'
const USER_AGENT = 'Dealer-eSIM-Gateway/1'

/**
 * Signs with both schemes (docs/webhooks.md). During a grace period the Standard Webhooks header contains both signatures.
 * The request scheme has room for only one, and uses the old secret until a request signed with the new one has arrived.
 */
export function signedHeaders(
  { appKey, secrets }: Signer,
  notifyId: string,
  requestId: string,
  moment: Date,
  body: string | Buffer,
  eventFormat: EventFormat = 'DEALER',
): SignedHeaders {
  const [current, old] = secrets
  if (!current) throw new Error('the tenant has no secret')
  const requestSecret = old !== undefined && current.provenAtMs === null ? old : current
  const timestamp = String(moment.getTime())
  const signature = signRequest(getPreparedSecret(requestSecret), { timestamp, requestId, appKey }, body)
  const event = { id: notifyId, timestampS: Math.floor(moment.getTime() / 1000) }
  const signed = signEvent(secrets.map(getPreparedSecret), event, body)
  const headers: SignedHeaders = {
    'content-type': CONTENT_TYPE,
    'user-agent': USER_AGENT,
    'RT-AccessCode': appKey,
    'RT-RequestID': requestId,
    'RT-Timestamp': timestamp,
    'X-Signature': signature,
    'webhook-id': signed['webhook-id'],
    'webhook-timestamp': signed['webhook-timestamp'],
    'webhook-signature': signed['webhook-signature'],
  }
  if (eventFormat === 'RT') headers['RT-Signature'] = signature
  return headers
}

/** Receivers of the RT family verify RT-Signature, which has the same value as X-Signature. Only the RT format has it. */
type SignedHeaders = Record<HeaderName, string> & { 'RT-Signature'?: string }

/** Headers are listed one by one, because looking up names and spreading objects took a microsecond per event. */
type HeaderName =
  | 'content-type'
  | 'user-agent'
  | (typeof REQUEST_HEADERS)[keyof typeof REQUEST_HEADERS]
  | (typeof EVENT_HEADERS)[keyof typeof EVENT_HEADERS]

const SECOND = 1_000
const HOUR = 3_600 * SECOND

/** Each wait is up to a fifth shorter or longer, so that events that failed together are not retried together. */
const JITTER = 0.2

/**
 * The next step after an attempt:
 *
 *     2xx                         ACKNOWLEDGED   the event is DELIVERED
 *     410                         GONE           the endpoint is disabled; the event is retried if it is enabled again
 *     anything else, steps left   RETRY          at the next step
 *     anything else, none left    DEAD           kept, and resendable
 */
export type NextStep =
  | { step: 'ACKNOWLEDGED' }
  | { step: 'RETRY'; dueMs: number; gone: boolean }
  | { step: 'DEAD'; gone: boolean }

/**
 * Decides the next step after an attempt.
 * @param attempts attempts since the event was recorded or last replayed, including this one
 * @param nowMs when the attempt ended, by the database's clock
 * @param chance returns a random number in [0, 1)
 */
export function nextStep(outcome: OutboundOutcome, attempts: number, nowMs: number, chance: () => number): NextStep {
  if (isAcknowledged(outcome)) return { step: 'ACKNOWLEDGED' }
  const gone = outcome.kind === 'answer' && outcome.status === 410
  const stepMs = RETRY_STEPS_MS[attempts - 1]
  if (stepMs === undefined) return { step: 'DEAD', gone }
  const jitteredMs = stepMs * (1 - JITTER + 2 * JITTER * chance())
  const askedMs = Math.min(retryAfterMs(outcome, nowMs) ?? 0, RETRY_AFTER_MAX_STEPS * stepMs)
  return { step: 'RETRY', dueMs: nowMs + Math.max(jitteredMs, askedMs), gone }
}

export function isAcknowledged(outcome: OutboundOutcome): boolean {
  return outcome.kind === 'answer' && outcome.status >= 200 && outcome.status < 300
}

/** Events recorded before this time are not sent again. */
export function sendableSince(nowMs: number): Date {
  return new Date(nowMs - SENDABLE_DAYS * 24 * HOUR)
}

/**
 * The time from which the next wait counts: when the attempt ended. An attempt that an advance of the test time has skipped counts as
 * made when it was due, so that all attempts of that time follow each other. Example: after an advance of a day, the nine attempts of
 * its first 21 hours are made one after another.
 */
export function attemptedAtMs(
  { dueMs }: { dueMs: number },
  { testAdvancedAtMs }: Pick<Tenant, 'testAdvancedAtMs'>,
  endedAtMs: number,
): number {
  return testAdvancedAtMs !== null && dueMs < testAdvancedAtMs ? dueMs : endedAtMs
}

/** The wait requested by the response's Retry-After, in either form. */
function retryAfterMs(outcome: OutboundOutcome, nowMs: number): number | undefined {
  const text = outcome.kind === 'answer' ? outcome.headers['retry-after'] : undefined
  if (typeof text !== 'string') return undefined
  // It may have any number of digits: the result may be Infinity and is capped.
  if (/^\d+$/.test(text)) return Number(text) * SECOND
  const moment = Date.parse(text)
  return Number.isNaN(moment) ? undefined : Math.max(0, moment - nowMs)
}
