import {
  type EventHeaders,
  type EventParts,
  type EventVerdict,
  eventHead,
  eventHeaders,
  readEventHeaders,
  toBase64,
} from './event-headers.ts'
import type { IncomingHeaders } from './request-headers.ts'
import { type Body, concatenate, equalText, hmac, keyOf } from './signing.ts'

/** Signs an event with every secret that is valid: in a grace period a receiver may still know the old one only. */
export async function signEvent(secrets: readonly string[], parts: EventParts, body: Body): Promise<EventHeaders> {
  const bytes = concatenate(eventHead(parts), body)
  return eventHeaders(parts, await Promise.all(secrets.map((secret) => signature(secret, bytes))))
}

/** Verifies an event by its Standard Webhooks headers. `secrets` are AppSecrets as the console shows them. */
export async function verifyEvent(
  secrets: readonly string[],
  incoming: IncomingHeaders,
  body: Body,
  now_s: number,
): Promise<EventVerdict> {
  const read = readEventHeaders(incoming, now_s)
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
