import { createHmac, timingSafeEqual } from 'node:crypto'
import { iccidOf, parseObject } from '../members.ts'
import type { ReceivedEvent } from '../supplier.ts'
import type { EsimGoConfig } from './client.ts'
import type { OrderStore } from './orders.ts'

interface Event {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}

/** Verifies an event and finds the key of the eSIM that it names. It is only a hint to query that eSIM. */
export async function receive({ apiKey }: EsimGoConfig, store: OrderStore, event: Event): Promise<ReceivedEvent> {
  if (!isSigned(event, apiKey)) {
    return { kind: 'refused', message: 'X-Signature-SHA256 is not the signature of the event with the apiKey' }
  }
  const iccid = iccidOf(parseObject(event.body.toString()) ?? {})
  const key = iccid === undefined ? undefined : await store.findKeyOf(iccid)
  return { kind: 'changed', keys: key === undefined ? [] : [key] }
}

/** One public document has the signature in base64, another one in hexadecimal digits. */
function isSigned({ headers, body }: Event, apiKey: string): boolean {
  const given = headers['x-signature-sha256']
  if (typeof given !== 'string') return false
  const signature = createHmac('sha256', apiKey).update(body).digest()
  return [Buffer.from(given, 'hex'), Buffer.from(given, 'base64')].some(
    (one) => one.length === signature.length && timingSafeEqual(one, signature),
  )
}
