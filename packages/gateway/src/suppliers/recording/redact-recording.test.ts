import { isEid, makeEid } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import type { RecordedExchange } from './record-calls.ts'
import { redactExchanges } from './redact-recording.ts'

describe('redaction', () => {
  const exchangeOf = (body: unknown, path = '/orders'): RecordedExchange => ({
    callId: 'c',
    operation: 'order',
    arguments: [],
    request: { method: 'GET', path },
    answer: { status: 200, headers: {}, body: typeof body === 'string' ? body : JSON.stringify(body) },
  })
  const redacted = (...bodies: unknown[]) => {
    const { exchanges } = redactExchanges(bodies.map((body) => exchangeOf(body)))
    return exchanges.map(
      ({ answer }) => answer!.body as Record<string, unknown> & { organisation: { country: string } },
    )
  }

  it('keeps equal values equal, in members, texts, paths and links', () => {
    const iccid = '8944501234567890124'
    const [one, other] = redactExchanges([
      exchangeOf({ iccid, note: `eSIM ${iccid}: LPA:1$rsp.carrier.net$K2-ABC-9` }),
      exchangeOf(
        { matchingId: 'K2-ABC-9', qrcode: 'LPA:1$rsp.carrier.net$K2-ABC-9', padded: `${iccid}F` },
        `/sims/${iccid}`,
      ),
    ]).exchanges.map(({ request, answer }) => ({ path: request.path, body: answer!.body as Record<string, string> }))
    const { matchingId, qrcode, padded } = other!.body
    expect(one!.body.iccid).toMatch(/^8999\d{15}$/)
    expect([other!.path, padded]).toEqual([`/sims/${one!.body.iccid}`, `${one!.body.iccid}F`])
    expect(qrcode).toBe(`LPA:1$host-1.example.com$${matchingId}`)
    expect(one!.body.note).toBe(`eSIM ${one!.body.iccid}: ${qrcode}`)
    expect(matchingId).toMatch(/^[A-Z]\d-[A-Z]{3}-\d$/)
  })

  it('replaces data about people and companies, and keeps the outcome', () => {
    const [body] = redacted({
      status: 'DONE',
      code: 'provider_error',
      message: 'Order 4711 of ada@lovelace.org failed, call +441234567890',
      price: 4.5,
      volume: 1073741824,
      time: '2026-11-20T13:28:09.000Z',
      name: 'Japan 1 GB',
      organisation: { name: 'Analytical Engines', emailAddress: 'ada@lovelace.org', country: 'GB' },
      users: [{ firstName: 'Ada', lastName: 'Lovelace', role: 'Owner' }],
    })
    expect(body).toMatchObject({
      status: 'DONE',
      code: 'provider_error',
      price: 4.5,
      volume: 1073741824,
      time: '2026-11-20T13:28:09.000Z',
      name: 'Japan 1 GB',
      users: [{ role: 'Owner' }],
    })
    expect(body!.organisation.country).toBe('GB')
    expect(body!.message).toMatch(/^Order 4711 of person-1@example\.com failed, call \+\d{12}$/)
    expect(JSON.stringify(body)).not.toMatch(/Ada|Lovelace|Analytical|441234567890/i)
  })

  const EID = makeEid('890490320000000000000000000000')

  it('replaces numbers, tokens, addresses, links and images of codes', () => {
    const texts = [
      { eid: EID, msisdn: 447700900123 },
      { access_token: 'abc-def', refreshToken: 'x', token_type: 'Bearer' },
      { error: 'no route to 10.1.2.3 or smdp.plus.carrier.net, key 9f86d081884c7d659a2feaa0c55ad015' },
      { qrCodeUrl: 'https://p.pictures.example/abcdefgh', shareLink: 'https://esims.cloud/acme/x?code=SECRET-CODE' },
      { qr: `data:image/png;base64,${'iVBORw0KGgo1234567890/'.repeat(20)}` },
      {
        productDetails: [
          { name: 'ACTIVATION_CODE', value: 'PLAIN-CODE' },
          { name: 'CONF_CODE ', value: 'C-471' },
          { name: 'PLAN_TITLE', value: 'Asia 3 GB' },
        ],
      },
    ]
    const text = JSON.stringify(redacted(...texts))
    for (const leaked of [
      ...[EID, '447700900123', 'abc-def', '10.1.2.3', 'carrier.net', '9f86d081884c7d65'],
      ...['pictures.example', 'abcdefgh', 'esims.cloud', 'SECRET-CODE', 'iVBORw0KGgo', 'PLAIN-CODE', 'C-471'],
    ])
      expect(text).not.toContain(leaked)
    expect(text).toContain('"Asia 3 GB"')
    expect(text).toContain('"Bearer"')
    expect(isEid(JSON.parse(text)[0].eid)).toBe(true)
  })

  it('handles answers that are not JSON, and texts that PostgreSQL cannot store', () => {
    expect(redacted('<html>8944501234567890124</html>', { a: 'x\u0000\ud800y' })).toEqual([
      expect.stringMatching(/^<html>8999\d{15}<\/html>$/),
      { a: 'x\ufffd\ufffdy' },
    ])
  })
})
