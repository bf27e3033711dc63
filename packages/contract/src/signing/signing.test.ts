import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import vectors from '../../../../test/vectors/signing.json' with { type: 'json' }
import * as eventsOnWeb from './event-signing.ts'
import { EVENT_HEADERS, webhookSecret } from './event-signing.ts'
import * as onNode from './node.ts'
import { checkRequestHeaders } from './request-headers.ts'
import * as requestsOnWeb from './request-signing.ts'

const implementations = [
  ['Web Crypto', { ...requestsOnWeb, ...eventsOnWeb }],
  ['node:crypto', onNode],
] as const

/** Passed by untyped programs that have no secret: TextEncoder would turn them into the text "null". */
const NO_SECRETS = [null, undefined] as unknown as string[]

const bytesOf = (text: string) => new TextEncoder().encode(text)
const flip = (text: string, at: number) => text.slice(0, at) + (text[at] === '0' ? '1' : '0') + text.slice(at + 1)

describe.each(implementations)('requests signed on %s', (_, { signRequest, verifyRequest }) => {
  test.each(vectors.requests)('match the signature of the test vector: $name', async (vector) => {
    expect(await signRequest(vector.appSecret, vector, vector.body)).toBe(vector.signature)
    expect(await signRequest(vector.appSecret, vector, bytesOf(vector.body))).toBe(vector.signature)
    expect(await verifyRequest([vector.appSecret], vector, bytesOf(vector.body))).toBe(vector.appSecret)
  })

  const vector = vectors.requests[0]!
  const body = bytesOf(vector.body)

  test.each([43, 64, 65, 200])(
    'get the same signature as from createHmac with a secret of %i bytes',
    async (length) => {
      const secret = 'é'.repeat(length >> 1) + 'x'.repeat(length % 2)
      const expected = createHmac('sha256', secret).update(vector.timestamp + vector.requestId + vector.appKey)
      expect(await signRequest(secret, vector, body)).toBe(expected.update(body).digest('hex'))
    },
  )

  test('are signed byte for byte, even if the body is not valid UTF-8', async () => {
    const left = await signRequest('s', vector, Uint8Array.of(0xff))
    const right = await signRequest('s', vector, Uint8Array.of(0xfe))
    expect(left).not.toBe(right)
  })

  test('verify even if the signature is in upper case', async () => {
    const headers = { ...vector, signature: vector.signature.toUpperCase() }
    expect(await verifyRequest([vector.appSecret], headers, body)).toBe(vector.appSecret)
  })

  test('verify against any secret in the list, and the matching one is returned', async () => {
    expect(await verifyRequest(['other', vector.appSecret], vector, body)).toBe(vector.appSecret)
    expect(await verifyRequest([vector.appSecret, 'other'], vector, body)).toBe(vector.appSecret)
    expect(await verifyRequest(['other', 'another'], vector, body)).toBeUndefined()
    expect(await verifyRequest([], vector, body)).toBeUndefined()
  })

  test('do not verify if the signature, a signed part, the body or the secret has changed', async () => {
    for (let at = 0; at < vector.signature.length; at++) {
      const headers = { ...vector, signature: flip(vector.signature, at) }
      expect(await verifyRequest([vector.appSecret], headers, body), `digit ${at}`).toBeUndefined()
    }
    for (const part of ['timestamp', 'requestId', 'appKey'] as const) {
      const headers = { ...vector, [part]: flip(vector[part], 5) }
      expect(await verifyRequest([vector.appSecret], headers, body), part).toBeUndefined()
    }
    expect(await verifyRequest([vector.appSecret], vector, bytesOf(`${vector.body} `))).toBeUndefined()
    expect(await verifyRequest([`${vector.appSecret} `], vector, body)).toBeUndefined()
    expect(await verifyRequest([vector.appSecret], { ...vector, signature: '' }, body)).toBeUndefined()
  })

  test('never verify with an empty secret', async () => {
    // The HMAC of the vector's text under an empty key.
    const signature = 'f06b3f62c6065e0d48b42524cbebb78c35e774cd78f556052d900b6e7d2c6d1f'
    expect(await verifyRequest([''], { ...vector, signature }, body)).toBeUndefined()
  })

  test.each(NO_SECRETS)('are neither signed nor verified with %s as the secret', async (none) => {
    const forged = { ...vector, signature: await signRequest(String(none), vector, body) }
    expect(await verifyRequest([none, vector.appSecret], forged, body)).toBeUndefined()
    expect(await verifyRequest([none, vector.appSecret], vector, body)).toBe(vector.appSecret)
    await expect((async () => signRequest(none, vector, body))()).rejects.toThrow(TypeError)
  })
})

test('a prepared secret signs and verifies exactly like the plain one', () => {
  const vector = vectors.requests[0]!
  const [prepared, other] = [onNode.prepareSecret(vector.appSecret), onNode.prepareSecret('other')]
  expect(onNode.signRequest(prepared, vector, vector.body)).toBe(vector.signature)
  expect(onNode.verifyRequest([other, prepared], vector, vector.body)).toBe(prepared)
  expect(onNode.verifyRequest([other], vector, vector.body)).toBeUndefined()
})

test('the string to sign consists of the timestamp, RequestID, AppKey and body', () => {
  const vector = vectors.requests[0]!
  expect(new TextDecoder().decode(requestsOnWeb.stringToSign(vector, vector.body))).toBe(
    '17000000000007f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11demo_app_key' +
      '{"transactionId":"T-1","packageInfoList":[{"packageCode":"JP_1_7","count":1}]}',
  )
})

test('all test vectors marked well-formed pass the format checks, and no others do', () => {
  for (const { timestamp, requestId, appKey, signature, wellFormed } of vectors.requests) {
    const incoming = {
      'rt-timestamp': timestamp,
      'rt-requestid': requestId,
      'rt-accesscode': appKey,
      'x-signature': signature,
    }
    expect(checkRequestHeaders(incoming).ok).toBe(wellFormed)
  }
})

describe.each(implementations)('events signed on %s', (_, { signEvent, verifyEvent }) => {
  test.each(vectors.events)('match the signature of the test vector: $name', async (vector) => {
    const headers = await signEvent(vector.appSecrets, vector, vector.body)
    expect(headers).toEqual({
      'webhook-id': vector.id,
      'webhook-timestamp': String(vector.timestampS),
      'webhook-signature': vector.signature,
    })
    for (const secret of vector.appSecrets) {
      const verdict = await verifyEvent([secret], headers, bytesOf(vector.body), vector.timestampS)
      expect(verdict).toEqual({ ok: true, id: vector.id, secret })
    }
    expect(vector.appSecrets.map(webhookSecret)).toEqual(vector.webhookSecrets)
  })

  const nowS = Math.floor(Date.now() / 1000)
  const parts = { id: '0193f3a4-9c1e-7b60-8a53-0d5c1f7e2b90', timestampS: nowS }
  const body = '{"content":{"remark":"東京"}}'

  test('verify in the Standard Webhooks library with either secret', async () => {
    const headers = await signEvent(['new-secret', 'old-secret'], parts, body)
    for (const secret of ['new-secret', 'old-secret']) {
      expect(new Webhook(webhookSecret(secret)).verify(body, headers)).toEqual(JSON.parse(body))
    }
    expect(() => new Webhook(webhookSecret('third-secret')).verify(body, headers)).toThrow('No matching signature')
  })

  test('verify when signed by the Standard Webhooks library', async () => {
    const signature = new Webhook(webhookSecret('secret')).sign(parts.id, new Date(nowS * 1000), body)
    const headers = { 'webhook-id': parts.id, 'webhook-timestamp': String(nowS), 'webhook-signature': signature }
    expect(await verifyEvent(['secret'], headers, body, nowS)).toEqual({ ok: true, id: parts.id, secret: 'secret' })
  })

  test('do not verify if one bit in the body is flipped', async () => {
    const headers = await signEvent(['secret'], parts, body)
    const bytes = bytesOf(body)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = bytes.slice()
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(await verifyEvent(['secret'], headers, changed, nowS), `bit ${bit}`).toEqual({
        ok: false,
        reason: 'MISMATCH',
      })
    }
  })

  test('verify for five minutes before and after their timestamp', async () => {
    const headers = await signEvent(['secret'], parts, body)
    for (const shiftS of [-300, 300]) {
      expect((await verifyEvent(['secret'], headers, body, nowS + shiftS)).ok, `${shiftS}`).toBe(true)
    }
    for (const shiftS of [-301, 301]) {
      expect(await verifyEvent(['secret'], headers, body, nowS + shiftS)).toEqual({ ok: false, reason: 'EXPIRED' })
    }
  })

  test.each([
    ['HEADER_MISSING', { [EVENT_HEADERS.id]: undefined }],
    ['HEADER_MISSING', { [EVENT_HEADERS.signature]: undefined }],
    ['HEADER_MALFORMED', { [EVENT_HEADERS.id]: 'a.1' }],
    ['HEADER_MALFORMED', { [EVENT_HEADERS.id]: ['a', 'b'] }],
    ['HEADER_MALFORMED', { [EVENT_HEADERS.timestamp]: `0${nowS}` }],
    ['HEADER_MALFORMED', { [EVENT_HEADERS.timestamp]: `${nowS}.5` }],
    ['HEADER_MALFORMED', { [EVENT_HEADERS.timestamp]: '1e9' }],
    ['HEADER_MALFORMED', { [EVENT_HEADERS.signature]: 'v2,AAAA' }],
    ['MISMATCH', { [EVENT_HEADERS.signature]: 'v1,AAAA' }],
    ['MISMATCH', { [EVENT_HEADERS.id]: 'another-id' }],
    ['MISMATCH', { [EVENT_HEADERS.timestamp]: String(nowS - 1) }],
  ] as const)('%s: %j', async (reason, change) => {
    const headers = { ...(await signEvent(['secret'], parts, body)), ...change }
    expect(await verifyEvent(['secret'], headers, body, nowS)).toEqual({ ok: false, reason })
  })

  test('never verify with a missing or empty secret', async () => {
    const headers = await signEvent(['secret'], parts, body)
    expect(await verifyEvent([], headers, body, nowS)).toEqual({ ok: false, reason: 'MISMATCH' })
    expect(await verifyEvent([''], headers, body, nowS)).toEqual({ ok: false, reason: 'MISMATCH' })
  })

  test.each(NO_SECRETS)('are neither signed nor verified with %s as the secret', async (none) => {
    const forged = await signEvent([String(none)], parts, body)
    expect(await verifyEvent([none, 'secret'], forged, body, nowS)).toEqual({ ok: false, reason: 'MISMATCH' })
    const headers = await signEvent(['secret'], parts, body)
    expect(await verifyEvent([none, 'secret'], headers, body, nowS)).toMatchObject({ ok: true, secret: 'secret' })
    await expect((async () => signEvent(['secret', none], parts, body))()).rejects.toThrow(TypeError)
  })
})
