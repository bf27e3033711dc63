import {
  CLOCK_WINDOW_MS,
  checkRequestHeaders,
  EVENT_HEADERS,
  EVENT_TOLERANCE_S,
  type EventRefusal,
  type FaultDetail,
  type IncomingHeaders,
  type Notification,
  REQUEST_HEADERS,
  verifyRequest,
  verifyEvent as verifyStandardWebhook,
} from '@dealer-esim/contract'
import { DealerEsimError } from '#error.ts'
import { checkSecrets, type SecretsInput } from '#options.ts'

/** Headers in any form that servers use; names in any case. */
export type HeadersInput = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** A verified event, under the name that users of other clients look for. */
export type WebhookEvent = Notification

/** A request that claims to be an event. Once verified, it is a Notification. */
export interface EventToVerify {
  /** The AppSecret, or the new and the old one during the grace period of a reset. Null entries are ignored. */
  appSecret: SecretsInput
  headers: HeadersInput
  /** The bytes as received. A body that was parsed and serialised again does not verify. */
  body: Uint8Array | string
  /** Milliseconds since 1970. */
  now?: () => number
}

/** @deprecated Named like what is returned. Use EventToVerify. */
export type ReceivedEvent = EventToVerify

/**
 * Returns the event if it is genuine and at most five minutes old. It is signed twice, by the Standard Webhooks headers
 * and by the request scheme; one valid signature suffices, because in a grace period the second may still use the old
 * secret. Throws a DealerEsimError `EVENT_REFUSED` that says which check failed. Events can repeat and arrive out of
 * order: drop a `notifyId` that you have seen, and per order keep the highest `sequence`. A newer gateway may send event
 * types that the TypeScript type does not name: compare `notifyType` before each use, and ignore unknown ones.
 */
export async function verifyEvent(received: EventToVerify): Promise<Notification> {
  const { body } = received
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('body must be the raw bytes or text of the request, read before any JSON parser')
  }
  const secrets = checkSecrets(received.appSecret)
  const headers = lowerCased(received.headers)
  const nowMs = (received.now ?? Date.now)()
  const faults: FaultDetail[] = []
  for (const check of [checkStandardWebhook, checkRequestScheme]) {
    const fault = await check(secrets, headers, body, nowMs)
    if (fault === undefined) return parse(body)
    faults.push(fault)
  }
  throw refused(faults)
}

type Check = (
  secrets: readonly string[],
  headers: IncomingHeaders,
  body: Uint8Array | string,
  nowMs: number,
) => Promise<FaultDetail | undefined>

const MISMATCH =
  'It is signed with another secret, or the body was changed after it arrived. Verify the raw bytes, with the AppSecret as shown on the console.'

const REASONS: Record<EventRefusal, string> = {
  HEADER_MISSING: `Missing: every event carries ${Object.values(EVENT_HEADERS).join(', ')}.`,
  HEADER_MALFORMED: 'Malformed: these are not valid Standard Webhooks headers.',
  EXPIRED: `Sent more than ${EVENT_TOLERANCE_S} s before or after this machine's time. Check its clock; old events are not accepted.`,
  MISMATCH,
}

const checkStandardWebhook: Check = async (secrets, headers, body, nowMs) => {
  const verdict = await verifyStandardWebhook(secrets, headers, body, nowMs / 1000)
  return verdict.ok ? undefined : { field: EVENT_HEADERS.signature, reason: REASONS[verdict.reason] }
}

const checkRequestScheme: Check = async (secrets, headers, body, nowMs) => {
  const checked = checkRequestHeaders(headers)
  if (!checked.ok) return checked.details[0] ?? { field: REQUEST_HEADERS.signature, reason: 'Malformed.' }
  if (Math.abs(nowMs - Number(checked.headers.timestamp)) > CLOCK_WINDOW_MS) {
    return { field: REQUEST_HEADERS.timestamp, reason: REASONS.EXPIRED }
  }
  const secret = await verifyRequest(secrets, checked.headers, body)
  return secret === undefined ? { field: REQUEST_HEADERS.signature, reason: MISMATCH } : undefined
}

/** A signed body is well formed; newer gateways may add members and event types. */
function parse(body: Uint8Array | string): Notification {
  let value: unknown
  try {
    value = JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body))
  } catch {
    value = undefined
  }
  const { notifyId, notifyType, content } = (value ?? {}) as Partial<Record<string, unknown>>
  const isObject = typeof content === 'object' && content !== null && !Array.isArray(content)
  if (typeof notifyId !== 'string' || typeof notifyType !== 'string' || !isObject) {
    throw refused([{ field: 'body', reason: 'It is signed, but it is not an event.' }])
  }
  return value as Notification
}

function refused(details: FaultDetail[]): DealerEsimError {
  const faults = details.map(({ field, reason }) => `${field}: ${reason}`).join(' ')
  return new DealerEsimError({ code: 'EVENT_REFUSED', message: `Not a genuine event. ${faults}`, details })
}

function lowerCased(headers: HeadersInput): IncomingHeaders {
  const entries = headers instanceof Headers ? [...headers.entries()] : Object.entries(headers)
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))
}
