import type { DeliveryUpdated, OrderPaid } from '@dealer-esim/contract'
import { DealerEsimError } from '../error.ts'
import type { SecretsInput } from '../options.ts'
import { notifyListener } from '../options.ts'
import { readBody } from '../read-body.ts'
import { type HeadersInput, verifyEvent } from './verify-event.ts'

/** What all handlers of webhook calls have in common. */
export interface WebhookOptions {
  /** The AppSecret; the new and the old one in a grace period; or a function, asked at each event. */
  appSecret: SecretsInput | (() => SecretsInput | Promise<SecretsInput>)
  /**
   * Takes a genuine event. The answer is sent when it is done: 204, or 500 when it throws, and then the gateway sends
   * the event again. Ten seconds are the limit, so store the event and do the work later. Kinds of a newer gateway,
   * which the type does not name, come here too: pass over a `notifyType` that you do not know.
   */
  onEvent: (event: OrderPaid | DeliveryUpdated) => unknown
  /** Hears of calls that are no genuine events; they are answered 401. What it throws goes to `console.error`. */
  onRefused?: (error: DealerEsimError) => void
}

/** The answer to a webhook call. `failed` is what `onEvent` threw. */
export interface WebhookResponse {
  status: 204 | 401 | 405 | 413 | 500
  text: string
  failed?: unknown
}

/** An event of a hundred eSIMs has 30 kB. */
const EVENT_SIZE_MAX_BYTES = 1024 * 1024

/** The body of a webhook call, or undefined when it is larger than any event. */
export function readEventBody(stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null) {
  return readBody(stream, EVENT_SIZE_MAX_BYTES)
}

/** Verifies one webhook call and hands the event over. CHECK_HEALTH, the test call of webhook/set, is just answered. */
export async function receive(
  options: WebhookOptions,
  call: { method: string | undefined; headers: HeadersInput; body: Uint8Array | string | undefined },
): Promise<WebhookResponse> {
  if (call.method !== 'POST') return { status: 405, text: 'Events are posted.' }
  if (call.body === undefined) return { status: 413, text: 'No event is that large.' }
  try {
    const { appSecret } = options
    const secret = typeof appSecret === 'function' ? await appSecret() : appSecret
    const event = await verifyEvent({ appSecret: secret, headers: call.headers, body: call.body })
    if (event.notifyType !== 'CHECK_HEALTH') await options.onEvent(event)
    return { status: 204, text: '' }
  } catch (error) {
    if (error instanceof DealerEsimError && error.code === 'EVENT_REFUSED') {
      void notifyListener(options.onRefused, error)
      return { status: 401, text: error.message }
    }
    return { status: 500, text: 'The event could not be handled. Send it again.', failed: error }
  }
}
