import { describe, expect, test } from 'vitest'
import { DealerEsimError } from '#error.ts'
import { APP_SECRET, EVENT, signedEvent } from '#test/signed-event.ts'
import type { Notification, ReceivedEvent, WebhookEvent } from '../index.ts'
import { type EventToVerify, verifyEvent } from './verify-event.ts'

const appSecret = APP_SECRET

async function refusal(received: EventToVerify): Promise<string> {
  const error = await verifyEvent(received).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(DealerEsimError)
  expect((error as DealerEsimError).code).toBe('EVENT_REFUSED')
  return (error as DealerEsimError).message
}

describe('a genuine event', () => {
  test('has the type Notification, also exported as WebhookEvent', async () => {
    const received: ReceivedEvent = { ...signedEvent(), appSecret }
    const event: Notification = await verifyEvent(received)
    const same: WebhookEvent = event
    expect(same.notifyType).toBe(EVENT.notifyType)
  })

  test('verifies under both schemes together and under each alone', async () => {
    for (const wanted of [{}, { standard: null }, { request: null }]) {
      expect(await verifyEvent({ ...signedEvent(wanted), appSecret })).toEqual(EVENT)
    }
  })

  test('verifies from bytes, from a Headers object, and with header names in any case', async () => {
    const { headers, body } = signedEvent()
    expect(await verifyEvent({ headers: new Headers(headers), body: Buffer.from(body), appSecret })).toEqual(EVENT)
    const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    expect(await verifyEvent({ headers: shouted, body, appSecret })).toEqual(EVENT)
  })

  test('verifies in a grace period with either of the two secrets', async () => {
    // The gateway signs the Standard Webhooks headers with both, and the request scheme still with the old one.
    const event = signedEvent({ standard: ['the-new-secret', 'the-old-secret'], request: 'the-old-secret' })
    for (const known of ['the-new-secret', 'the-old-secret']) {
      expect(await verifyEvent({ ...event, appSecret: known })).toEqual(EVENT)
    }
    expect(await verifyEvent({ ...signedEvent(), appSecret: ['another', APP_SECRET] })).toEqual(EVENT)
  })

  test('is returned even if its type is unknown', async () => {
    const event = { ...EVENT, notifyType: 'SOMETHING_NEW' }
    expect(await verifyEvent({ ...signedEvent({ event }), appSecret })).toEqual(event)
  })
})

describe('verification rejects', () => {
  test('an event signed with a different secret', async () => {
    expect(await refusal({ ...signedEvent(), appSecret: 'another' })).toMatch(/another secret/)
  })

  test('a body with one changed byte', async () => {
    const { headers, body } = signedEvent()
    expect(await refusal({ headers, body: `${body} `, appSecret })).toMatch(/changed after it arrived/)
  })

  test('an event sent more than five minutes ago, or dated more than five minutes ahead', async () => {
    for (const awayMs of [-301_000, 302_000]) {
      const event = signedEvent({ nowMs: Date.now() + awayMs })
      expect(await refusal({ ...event, appSecret })).toMatch(/clock/)
    }
    const old = signedEvent({ nowMs: 1_700_000_000_000 })
    expect(await verifyEvent({ ...old, appSecret, now: () => 1_700_000_000_000 })).toEqual(EVENT)
  })

  test('a call without any signature', async () => {
    const { headers, body } = signedEvent({ standard: null, request: null })
    expect(await refusal({ headers, body, appSecret })).toMatch(/Missing: every event carries webhook-id/)
  })

  test('a signed request that is not an event', async () => {
    for (const event of [{ transactionId: 'T-1' }, { ...EVENT, content: null }, { ...EVENT, content: [] }]) {
      expect(await refusal({ ...signedEvent({ event }), appSecret })).toMatch(/not an event/)
    }
  })
})

test('a parsed body is rejected with a TypeError, not as a forged event', async () => {
  const { headers } = signedEvent()
  await expect(verifyEvent({ headers, body: EVENT as unknown as string, appSecret })).rejects.toThrow(/raw bytes/)
})

describe('a secret', () => {
  test.each([null, undefined, ''])('that is %j is ignored in either position', async (none) => {
    for (const both of [[none, APP_SECRET] as const, [APP_SECRET, none] as const]) {
      expect(await verifyEvent({ ...signedEvent(), appSecret: both })).toEqual(EVENT)
      for (const scheme of [{ request: null }, { standard: null }]) {
        // standardwebhooks does not accept an empty key.
        if (none === '' && scheme.request === null) continue
        const forged = signedEvent({ standard: [String(none)], request: String(none), ...scheme })
        expect(await refusal({ ...forged, appSecret: both })).toMatch(/another secret/)
      }
    }
  })

  test('is required', async () => {
    for (const none of ['', [], [''], [null, undefined], null, undefined]) {
      const received = { ...signedEvent(), appSecret: none as string }
      await expect(verifyEvent(received)).rejects.toThrow(new TypeError('appSecret is missing'))
    }
  })

  test('that contains a line break causes a TypeError, not a report of a forged event', async () => {
    for (const appSecret of [`${APP_SECRET}\n`, ['another', ` ${APP_SECRET}`]]) {
      await expect(verifyEvent({ ...signedEvent(), appSecret })).rejects.toThrow(/line break: remove it/)
    }
  })
})
