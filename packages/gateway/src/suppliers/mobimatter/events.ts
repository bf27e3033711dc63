import { createPublicKey, verify } from 'node:crypto'
import { isObject, isText, parseObject } from '../members.ts'
import type { ReceivedEvent } from '../supplier.ts'
import type { MobimatterConfig } from './client.ts'
import type { ProgressStore } from './progress.ts'

interface Event {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Verifies an event and finds the key of the order that it names. It is only a hint to query that order. */
export async function receive(
  { webhookPublicKey }: MobimatterConfig,
  store: ProgressStore,
  event: Event,
): Promise<ReceivedEvent> {
  if (webhookPublicKey === undefined) {
    return { kind: 'refused', message: 'the configuration has no webhookPublicKey to verify events with' }
  }
  if (!isSigned(event, webhookPublicKey))
    return { kind: 'refused', message: 'no header is a valid signature of the event' }
  const body = parseObject(event.body.toString())
  const orderId = [body, body?.data, body?.order]
    .filter(isObject)
    .map(({ orderId }) => orderId)
    .find(isText)
  const key = orderId === undefined ? undefined : await store.findKey(orderId)
  return { kind: 'changed', keys: key === undefined ? [] : [key] }
}

/**
 * The public documentation does not name the header of the signature. So each header with the form of one is tried: only
 * MobiMatter can make a valid one, wherever it stands.
 */
function isSigned({ headers, body }: Event, publicKey: string): boolean {
  const key = createPublicKey(publicKey)
  const lengthBytes = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8
  return Object.values(headers).some((header) => {
    if (typeof header !== 'string' || header.length > 2 * lengthBytes) return false
    const signature = Buffer.from(header, 'base64')
    return signature.length === lengthBytes && verify('sha256', body, key, signature)
  })
}
