import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import type { Outcome } from '#supplier.ts'
import { bytesOf, messageOf, timeOf } from './decode.ts'
import { outcomeOfFailedQuery, outcomeOfFound, outcomeOfOrder } from './outcome.ts'

const KEY = 'ORDER-1'
const ICCID = '8999900000000000017'
const SIM = { iccid: ICCID, lpa: 'smdp.example.com', matching_id: 'M-1', qrcode: 'LPA:1$smdp.example.com$M-1' }
const ORDER = { id: 7, description: KEY, type: 'sim', price: 4.5, currency: 'USD', sims: [SIM] }
const TOP_UP = { key: KEY, topUp: { key: 'FIRST-1', iccid: ICCID, matchingId: 'M-1' } }

function reply(status: number, body?: JsonObject): RestAnswer {
  return { kind: 'reply', status, body, retryAfterMs: undefined, time: undefined }
}

const ordered = (answer: RestAnswer, request: Parameters<typeof outcomeOfOrder>[1] = { key: KEY }) =>
  outcomeOfOrder(answer, request)
const refusal = (code: number | string) => reply(422, { code, reason: 'the reason' })

describe('an order', () => {
  it('with an eSIM is delivered, with its charge and order number', () => {
    expect(ordered(reply(200, { data: { ...ORDER, net_price: 3.25 } }))).toEqual({
      kind: 'delivered',
      reference: '7',
      esim: {
        iccid: ICCID,
        smdpAddress: 'smdp.example.com',
        matchingId: 'M-1',
        charged: { amount: 32_500n, currencyCode: 'USD' },
      },
    })
  })

  it('contains the codes of its eSIM', () => {
    const sim = { ...SIM, qrcode: undefined, confirmation_code: '1234', apn_value: 'internet' }
    expect(outcomeOfFound({ ...ORDER, sims: [sim] }, { key: KEY })).toMatchObject({
      esim: { smdpAddress: 'smdp.example.com', matchingId: 'M-1', confirmationCode: '1234', apn: 'internet' },
    })
  })

  it.each<[string, RestAnswer, Outcome['kind']]>([
    ['without an eSIM yet', reply(200, { data: { ...ORDER, sims: [] } }), 'ordered'],
    ['with an unreadable eSIM', reply(200, { data: { ...ORDER, sims: [{ iccid: 'x' }] } }), 'unknown'],
    ['of another description', reply(200, { data: { ...ORDER, description: `${KEY}1` } }), 'unknown'],
    ['that is a top-up', reply(200, { data: { ...ORDER, type: 'topup' } }), 'unknown'],
    ['without a body', reply(200), 'unknown'],
    ['answered with 500', reply(500), 'unknown'],
    ['answered with 408', reply(408), 'unknown'],
    ['without an answer', { kind: 'failed', sent: true, message: 'no answer' }, 'unknown'],
    ['not sent', { kind: 'failed', sent: false, message: 'no connection' }, 'retry'],
    ['refused with 401', reply(401), 'retry'],
    ['refused with 404', reply(404), 'retry'],
    ['refused with 429', reply(429), 'retry'],
    ['without stock', refusal(33), 'refused'],
    ['of an unknown package', refusal('34'), 'refused'],
    ['with a faulty parameter', reply(422, { data: { package_id: 'is unknown' }, meta: {} }), 'refused'],
    ['without credit', refusal(11), 'retry'],
    ['under maintenance', refusal(13), 'retry'],
    ['with code 53', refusal(53), 'unknown'],
    ['with a code that is not documented', refusal(99), 'unknown'],
    ['refused without a code', reply(422), 'unknown'],
    ['refused with a reason alone', reply(422, { reason: 'the reason' }), 'refused'],
    ['with an invalid checksum', refusal(14), 'refused'],
    ['that is a bad request', refusal(43), 'refused'],
  ])('%s has the outcome %#', (_, answer, kind) => {
    expect(ordered(answer).kind).toBe(kind)
  })

  it('that the account cannot afford is retried for lack of money', () => {
    expect(ordered(refusal(11))).toEqual({ kind: 'retry', message: '11: the reason', noMoney: true })
  })
})

it('a top-up counts as toppedUp only with an order of type topup', () => {
  const order = { id: 8, description: KEY, type: 'topup' }
  expect(ordered(reply(200, { data: order }), TOP_UP)).toEqual({
    kind: 'toppedUp',
    charged: undefined,
    reference: '8',
  })
  expect(outcomeOfFound(ORDER, TOP_UP).kind).toBe('unknown')
})

it('a query that fails leaves the item in doubt', () => {
  for (const answer of [reply(404), reply(429), reply(422, { code: 33 }), reply(200)]) {
    expect(outcomeOfFailedQuery(answer).kind).toBe('unknown')
  }
})

it('a message contains the code, the faulty parameters or the status', () => {
  expect(messageOf(refusal(11))).toBe('11: the reason')
  expect(messageOf(reply(422, { data: { quantity: 'is missing' } }))).toBe('status 422: quantity: is missing')
  expect(messageOf(reply(401, { data: [], meta: { message: 'Unauthenticated.' } }))).toBe(
    'status 401: Unauthenticated.',
  )
  expect(messageOf(reply(502))).toBe('Airalo answered with status 502 and no readable body')
})

it('volumes and times are converted, and left out if they are invalid', () => {
  expect([1024, 0, -1, '1'].map(bytesOf)).toEqual([1_024_000_000n, 0n, undefined, undefined])
  expect(timeOf('2026-11-25 12:30:00')).toEqual(new Date('2026-11-25T12:30:00Z'))
  expect(timeOf('yesterday')).toBeUndefined()
})
