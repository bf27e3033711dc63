import { toBase64 } from '#base64.ts'
import { EVENT_TOLERANCE_S } from '#limits.ts'
import type { IncomingHeaders } from './request-headers.ts'
import { type Body, concatenate, equalText, hmac, keyOf } from './request-signing.ts'

/** Signs an event with every valid secret: during a grace period, a receiver may still have only the old one. */
export async function signEvent(secrets: readonly string[], parts: EventParts, body: Body): Promise<EventHeaders> {
  const bytes = concatenate(eventHead(parts), body)
  return eventHeaders(parts, await Promise.all(secrets.map((secret) => signature(secret, bytes))))
}

/** Verifies an event by its Standard Webhooks headers. `secrets` are AppSecrets as shown in the console. */
export async function verifyEvent(
  secrets: readonly string[],
  incoming: IncomingHeaders,
  body: Body,
  nowS: number,
): Promise<EventVerdict> {
  const read = readEventHeaders(incoming, nowS)
  if (typeof read === 'string') return { ok: false, reason: read }
  const bytes = concatenate(eventHead(read.parts), body)
  for (const secret of secrets) {
    if (!secret) continue
    const expected = await signature(secret, bytes)
    if (read.signatures.some((given) => equalText(expected, given))) return { ok: true, id: read.parts.id, secret }
  }
  return { ok: false, reason: 'MISMATCH' }
}

async function signature(secret: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toBase64(await hmac(keyOf(secret), bytes))
}

/**
 * The Standard Webhooks headers of an event. An event also carries the headers of a signed request (request-headers.ts);
 * a receiver can verify either.
 */
export const EVENT_HEADERS = {
  id: 'webhook-id',
  timestamp: 'webhook-timestamp',
  signature: 'webhook-signature',
} as const

/** The parts of an event that the signature covers in addition to the body. */
export interface EventParts {
  /** The notifyId, the same for every attempt and replay. */
  id: string
  /** Seconds since 1970, of this attempt. */
  timestampS: number
}

export type EventHeaders = Record<(typeof EVENT_HEADERS)[keyof typeof EVENT_HEADERS], string>

/**
 * The reason to reject an event. EXPIRED: more than five minutes from the receiver's clock, because an old event was
 * repeated or the clock is wrong. MISMATCH: signed with a different secret, or changed in transit.
 */
export type EventRefusal = 'HEADER_MISSING' | 'HEADER_MALFORMED' | 'EXPIRED' | 'MISMATCH'

/** `secret` is the one that signed the event. */
export type EventVerdict = { ok: true; id: string; secret: string } | { ok: false; reason: EventRefusal }

interface ReadEventHeaders {
  parts: EventParts
  /** The v1 signatures in Base64: one, or two in a grace period. */
  signatures: string[]
}

/** The secret in the form that Standard Webhooks libraries take: its key is the UTF-8 bytes of the AppSecret's text. */
export function webhookSecret(appSecret: string): string {
  return `whsec_${toBase64(new TextEncoder().encode(appSecret))}`
}

/** The text that is signed before the body. */
export function eventHead(parts: EventParts): string {
  return `${parts.id}.${parts.timestampS}.`
}

/** The headers of an event. `signatures` has one entry per valid secret. */
export function eventHeaders(parts: EventParts, signatures: readonly string[]): EventHeaders {
  return {
    [EVENT_HEADERS.id]: parts.id,
    [EVENT_HEADERS.timestamp]: String(parts.timestampS),
    [EVENT_HEADERS.signature]: signatures.map((signature) => `v1,${signature}`).join(' '),
  } as EventHeaders
}

/** Checks the form and age of the headers, not the signature. `nowS` is the receiver's clock. */
export function readEventHeaders(incoming: IncomingHeaders, nowS: number): ReadEventHeaders | EventRefusal {
  const id = incoming[EVENT_HEADERS.id]
  const timestamp = incoming[EVENT_HEADERS.timestamp]
  const signature = incoming[EVENT_HEADERS.signature]
  if (id === undefined || timestamp === undefined || signature === undefined) return 'HEADER_MISSING'
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string')
    return 'HEADER_MALFORMED'
  if (!ID.test(id) || !TIMESTAMP.test(timestamp)) return 'HEADER_MALFORMED'
  const signatures = readSignatures(signature)
  if (signatures.length === 0) return 'HEADER_MALFORMED'
  const timestampS = Number(timestamp)
  if (Math.abs(nowS - timestampS) > EVENT_TOLERANCE_S) return 'EXPIRED'
  return { parts: { id, timestampS }, signatures }
}

/** Contains no dot, so that the signed text is unambiguous. */
const ID = /^[A-Za-z0-9_-]{1,128}$/
/** Has no leading zeros, because the signed text is rebuilt from the number. */
const TIMESTAMP = /^[1-9]\d{0,11}$/
/** At most two secrets are valid; the limit bounds the work that a sender can cause. */
const SIGNATURES_MAX = 8

/** Ignores versions other than v1. */
function readSignatures(header: string): string[] {
  const parts = header.split(' ', SIGNATURES_MAX)
  return parts.filter((part) => part.startsWith('v1,')).map((part) => part.slice('v1,'.length))
}
