import type { CheckHealth, Notification } from '@dealer-esim/contract'
import { DealerEsimError } from '#error.ts'
import type { SecretsInput } from '#options.ts'
import { notifyListener } from '#options.ts'
import { readBody } from '#read-body.ts'
import { type HeadersInput, verifyEvent } from './verify-event.ts'

/** Options of all webhook handlers. */
export interface WebhookOptions {
  /** The AppSecret; the new and the old one in a grace period; or a function, called for each event. */
  appSecret: SecretsInput | (() => SecretsInput | Promise<SecretsInput>)
  /**
   * Handles a genuine event. The answer is sent when it returns: 204, or 500 if it throws, and then the gateway sends the
   * event again. The limit is ten seconds, so store the event and do the work later. Newer event types, which the
   * TypeScript type does not include, are passed too: ignore a `notifyType` that you do not know.
   */
  onEvent: (event: Exclude<Notification, CheckHealth>) => unknown
  /** Called for calls that are not genuine events, which are answered 401. Its errors go to `console.error`. */
  onRefused?: (error: DealerEsimError) => void
}

/** The answer to a webhook call. `error` is what `onEvent` threw. */
export interface WebhookResponse {
  status: 204 | 401 | 405 | 413 | 500
  text: string
  error?: unknown
}

/** An event for a hundred eSIMs has about 30 kB. */
const EVENT_SIZE_MAX_BYTES = 1024 * 1024

/** Reads the body of a webhook call; returns undefined if it is larger than any event. */
export function readEventBody(stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null) {
  return readBody(stream, EVENT_SIZE_MAX_BYTES)
}

/** Verifies one webhook call and passes the event on. CHECK_HEALTH, the test call of webhook/set, is only answered. */
export async function receive(
  options: WebhookOptions,
  call: { method: string | undefined; headers: HeadersInput; body: Uint8Array | string | undefined },
): Promise<WebhookResponse> {
  if (call.method !== 'POST') return { status: 405, text: 'Send events with POST.' }
  if (call.body === undefined) return { status: 413, text: 'The body is larger than any event.' }
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
    return { status: 500, text: 'The event could not be handled. Send it again.', error }
  }
}
