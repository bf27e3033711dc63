import type { FaultDetail } from '#codes/envelope.ts'

/** The headers of a signed request; HTTP header names are case-insensitive. */
export const REQUEST_HEADERS = {
  appKey: 'RT-AccessCode',
  requestId: 'RT-RequestID',
  timestamp: 'RT-Timestamp',
  signature: 'X-Signature',
} as const

/** The parts that the signature covers in addition to the body. */
export interface SignedParts {
  /** Milliseconds since 1970, 13 digits. */
  timestamp: string
  /** A UUID, unique per tenant. */
  requestId: string
  appKey: string
}

export interface RequestHeaders extends SignedParts {
  /** 64 hex digits, either case. */
  signature: string
}

/** Headers by lower-case name, as in Node's `request.headers` and `Object.fromEntries(request.headers)`. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export type CheckedHeaders =
  | { ok: true; headers: RequestHeaders }
  | { ok: false; code: '000101' | '000102'; details: FaultDetail[] }

/**
 * The signed text is a concatenation without separators, which is unambiguous only if every part has a fixed form, so
 * the form is checked before the signature. A header that was sent twice arrives as an array or joined by `, `; both
 * fail the check.
 */
export function checkRequestHeaders(incoming: IncomingHeaders): CheckedHeaders {
  const timestamp = incoming['rt-timestamp']
  const requestId = incoming['rt-requestid']
  const appKey = incoming['rt-accesscode']
  const signature = incoming['x-signature']
  if (
    typeof timestamp === 'string' &&
    typeof requestId === 'string' &&
    typeof appKey === 'string' &&
    typeof signature === 'string' &&
    TIMESTAMP.test(timestamp) &&
    UUID.test(requestId) &&
    APP_KEY.test(appKey) &&
    SIGNATURE.test(signature)
  ) {
    return { ok: true, headers: { timestamp, requestId, appKey, signature } }
  }
  return explain(incoming)
}

const TIMESTAMP = /^\d{13}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const APP_KEY = /^[A-Za-z0-9_-]{8,64}$/
const SIGNATURE = /^[0-9a-f]{64}$/i

const HEADER_FORMATS = [
  [REQUEST_HEADERS.appKey, APP_KEY, 'send the AppKey: 8 to 64 letters, digits, _ and -'],
  [REQUEST_HEADERS.requestId, UUID, 'send a new UUID for each request, 36 characters'],
  [REQUEST_HEADERS.timestamp, TIMESTAMP, 'send the time in milliseconds, exactly 13 digits'],
  [REQUEST_HEADERS.signature, SIGNATURE, 'send the HMAC-SHA256 as 64 hex digits'],
] as const

/** Missing headers are reported before malformed ones. */
function explain(incoming: IncomingHeaders): CheckedHeaders {
  const value = (name: string) => incoming[name.toLowerCase()]
  const missing = HEADER_FORMATS.filter(([name]) => value(name) === undefined)
  if (missing.length > 0) {
    const details = missing.map(([field, , advice]) => ({ field, reason: `Missing: ${advice}.` }))
    return { ok: false, code: '000101', details }
  }
  const malformed = HEADER_FORMATS.filter(([name, form]) => !form.test(single(value(name))))
  const details = malformed.map(([field, , advice]) => ({ field, reason: `Malformed: ${advice}, and only once.` }))
  return { ok: false, code: '000102', details }
}

function single(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : ''
}
