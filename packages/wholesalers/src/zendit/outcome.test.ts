import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import { outcomeOfOrder, outcomeOfPurchase, outcomeOfQuery, outcomeOfRefund, outcomeOfRejection } from './outcome.ts'

const KEY = 'ORDER-1'
const ICCID = '8999900000000000017'

function reply(status: number, body?: JsonObject, retryAfterMs?: number): RestAnswer {
  return { kind: 'reply', status, body, retryAfterMs, time: undefined }
}

function failure(sent: boolean): RestAnswer {
  return { kind: 'failed', phase: sent ? 'time-out' : 'connect', sent, message: 'no answer' }
}

function refusal(errorCode: string): JsonObject {
  return { errorCode, message: 'No.' }
}

const PURCHASE = {
  transactionId: KEY,
  status: 'DONE',
  confirmation: { iccid: ICCID, activationCode: 'M-1', smdpAddress: 'smdp.example.com', externalReferenceId: 'X' },
  cost: 1250,
  costCurrency: 'USD',
  costCurrencyDivisor: 100,
}

describe('an order’s outcome', () => {
  it.each([
    ['accepted', reply(200, { transactionId: KEY, status: 'ACCEPTED' }), 'accepted'],
    ['refused by Zendit', reply(400, refusal('INVALID_REQUEST')), 'rejected'],
    ['refused in the form of a purchase’s error', reply(404, { error: { code: 'NOT_FOUND' } }), 'rejected'],
    ['refused as repeated', reply(409, refusal('DUPLICATE')), 'rejected'],
  ] as const)('is open if it was %s', (_, answer, decided) => {
    expect(outcomeOfOrder(answer, KEY)).toBe(decided)
  })

  it.each([
    ['another purchase', reply(200, { transactionId: 'ORDER-2' }), 'unknown'],
    ['an unreadable acceptance', reply(200), 'unknown'],
    ['an acceptance without a transactionId', reply(200, {}), 'unknown'],
    ['a server error', reply(500, refusal('INTERNAL')), 'unknown'],
    ['an unavailable system', reply(503, refusal('SYSTEM_UNAVAILABLE')), 'unknown'],
    ['a late request', reply(408), 'unknown'],
    ['a request that may have arrived', failure(true), 'unknown'],
    ['a request that was not sent', failure(false), 'retry'],
    ['a wrong API key', reply(401, refusal('NOT_AUTHORIZED')), 'retry'],
    ['an address that is not allowed', reply(403, refusal('FORBIDDEN')), 'retry'],
    ['too many requests', reply(429), 'retry'],
    ['the page of another server', reply(404), 'retry'],
    ['a redirect', reply(302), 'retry'],
    ['the JSON of another server', reply(404, { message: 'no route' }), 'retry'],
  ] as const)('follows from the answer: %s', (_, answer, kind) => {
    expect(outcomeOfOrder(answer, KEY)).toMatchObject({ kind })
  })

  it('is a retry after the delay that Zendit states', () => {
    expect(outcomeOfOrder(reply(429, undefined, 7_000), KEY)).toMatchObject({ kind: 'retry', afterMs: 7_000 })
  })

  it('counts as a refusal after a rejection, unless money is missing', () => {
    expect(outcomeOfRejection(reply(404, refusal('NOT_FOUND')))).toEqual({ kind: 'refused', message: 'NOT_FOUND: No.' })
    expect(outcomeOfRejection(reply(400, refusal('INSUFFICIENT_FUNDS')))).toMatchObject({ kind: 'retry' })
  })
})

describe('a query’s outcome', () => {
  it('shows that nothing was bought only if Zendit itself answers 404', () => {
    expect(outcomeOfQuery(reply(404, refusal('NOT_FOUND')), { key: KEY })).toMatchObject({ kind: 'retry' })
    for (const body of [undefined, {}, { message: 'no route' }])
      expect(outcomeOfQuery(reply(404, body), { key: KEY })).toMatchObject({ kind: 'unknown' })
  })

  it.each([400, 401, 403, 408, 429, 500, 503, 302, 204])('leaves the item in doubt (status %s)', (status) => {
    expect(outcomeOfQuery(reply(status, refusal('ANY')), { key: KEY })).toMatchObject({ kind: 'unknown' })
  })

  it('leaves the item in doubt without an answer, even if the query was not sent', () => {
    for (const sent of [true, false])
      expect(outcomeOfQuery(failure(sent), { key: KEY })).toMatchObject({ kind: 'unknown', down: true })
    expect(outcomeOfQuery(reply(200), { key: KEY })).toMatchObject({ kind: 'unknown' })
  })
})

describe('a purchase’s outcome', () => {
  const decide = (members: object, topUp?: { key: string; iccid: string; matchingId: string }) =>
    outcomeOfPurchase({ ...PURCHASE, ...members }, { key: KEY, topUp })
  const TOPPED_UP = { key: 'ORDER-0', iccid: ICCID, matchingId: 'M-0' }
  const charged = { amount: 125_000n, currencyCode: 'USD' }

  it('contains the eSIM together with its charge', () => {
    expect(decide({})).toEqual({
      kind: 'delivered',
      esim: { iccid: ICCID, smdpAddress: 'smdp.example.com', matchingId: 'M-1', charged },
      reference: KEY,
    })
  })

  it('counts as a top-up only for the intended eSIM', () => {
    expect(decide({}, TOPPED_UP)).toEqual({ kind: 'toppedUp', charged, reference: KEY })
    expect(decide({}, { ...TOPPED_UP, iccid: '8999900000000000025' })).toMatchObject({ kind: 'unknown' })
    expect(decide({ confirmation: undefined }, TOPPED_UP)).toMatchObject({ kind: 'toppedUp' })
  })

  it.each(['ACCEPTED', 'AUTHORIZED', 'PENDING', 'IN_PROGRESS'])(
    'counts as an order in progress while it is %s',
    (status) => {
      expect(decide({ status, confirmation: undefined })).toMatchObject({ kind: 'ordered', reference: KEY, charged })
    },
  )

  it('counts as a refusal with Zendit’s reason if it FAILED', () => {
    const error = { code: 'INSUFFICIENT_FUNDS', message: 'The wallet is empty' }
    expect(decide({ status: 'FAILED', error })).toEqual({
      kind: 'refused',
      message: 'INSUFFICIENT_FUNDS: The wallet is empty',
    })
    expect(decide({ status: 'FAILED' })).toMatchObject({ kind: 'refused' })
  })

  it.each([
    ['another purchase', { transactionId: 'ORDER-2' }],
    ['an unknown status', { status: 'PAUSED' }],
    ['no status', { status: undefined }],
    ['no confirmation', { confirmation: null }],
    ['no ICCID', { confirmation: { ...PURCHASE.confirmation, iccid: 'x' } }],
    ['no activation code', { confirmation: { ...PURCHASE.confirmation, activationCode: '' } }],
    ['no SM-DP+ address', { confirmation: { ...PURCHASE.confirmation, smdpAddress: null } }],
  ])('is unknown with %s', (_, members) => {
    expect(decide(members)).toMatchObject({ kind: 'unknown' })
  })

  it.each(['LPA:1$a.example.com$M-2', '1$a.example.com$M-2'])(
    'accepts a complete activation code (%s)',
    (activationCode) => {
      const esim = { smdpAddress: 'a.example.com', matchingId: 'M-2' }
      expect(decide({ confirmation: { ...PURCHASE.confirmation, activationCode } })).toMatchObject({ esim })
    },
  )

  it.each([
    [1, 'JPY', 1, 10_000n],
    [1999, 'USD', 100, 199_900n],
    [1999, 'KWD', 1000, 19_990n],
    ['1250', 'USD', 100, 125_000n],
    [12.5, 'USD', 100, 1_250n],
    [12.345, 'USD', 100, 1_235n],
  ])(
    'states its charge in units of 1/10 000, rounded half up (%s %s / %s)',
    (cost, costCurrency, costCurrencyDivisor, amount) => {
      const outcome = decide({ cost, costCurrency, costCurrencyDivisor })
      expect(outcome).toMatchObject({ esim: { charged: { amount, currencyCode: costCurrency } } })
    },
  )

  it.each([
    { cost: -1 },
    { costCurrency: 'usd' },
    { costCurrencyDivisor: 0 },
    { costCurrencyDivisor: undefined },
    { cost: 460, costFee: 10 },
    { cost: 450, costBase: 450, costFee: 10 },
  ])('has no charge unless Zendit states one clearly (%j)', (members) => {
    expect(decide(members)).toMatchObject({ kind: 'delivered', esim: { charged: undefined } })
  })
})

describe('a refund’s outcome', () => {
  it('is final only if the refund is DONE or FAILED', () => {
    expect(outcomeOfRefund({ status: 'DONE' })).toEqual({ kind: 'cancelled' })
    const error = { code: 'IN_USE', description: 'The eSIM is installed' }
    const message = 'IN_USE: The eSIM is installed'
    expect(outcomeOfRefund({ status: 'FAILED', error })).toEqual({ kind: 'refused', message })
    for (const status of ['ACCEPTED', 'PENDING', 'IN_PROGRESS', undefined])
      expect(outcomeOfRefund({ status })).toBeUndefined()
  })
})
