import { type FailureCode, failureCodes, type Profile, type QueryAnswer } from '@dealer-esim/contract'
import { DealerEsimError } from '@dealer-esim/sdk'
import { describe, expect, it } from 'vitest'
import { isDown, outcomeOfFailure, outcomeOfOrder } from './outcome.ts'

/** Every code of the contract except success. `retry` means that nothing was bought. */
const OUTCOMES: Record<FailureCode, 'refused' | 'retry' | 'unknown'> = {
  '000001': 'unknown',
  '000002': 'retry',
  '000101': 'retry',
  '000102': 'retry',
  '000103': 'retry',
  '000104': 'retry',
  '000105': 'refused',
  '000106': 'refused',
  '000107': 'refused',
  '000108': 'refused',
  '000109': 'retry',
  '000110': 'retry',
  '000111': 'retry',
  '101001': 'retry',
  '101002': 'retry',
  '101003': 'retry',
  '101004': 'retry',
  '101005': 'retry',
  '101006': 'unknown', // a proxy repeated the request: the first of the two may have bought
  '101007': 'retry',
  '101008': 'retry',
  '101009': 'retry',
  '200002': 'refused',
  '200005': 'retry',
  '200006': 'unknown',
  '200007': 'retry',
  '200011': 'refused',
  '200012': 'unknown',
  '200013': 'unknown',
  '200014': 'retry',
  '200015': 'refused',
  '200017': 'refused',
  '200018': 'refused',
  '200019': 'refused',
  '310241': 'refused',
  '310244': 'refused',
  '310245': 'refused',
  '310403': 'refused',
  '400101': 'unknown',
  '400102': 'unknown',
}

const failure = (
  code: string,
  parts: { httpStatus?: number; retryAfterS?: number; data?: Record<string, unknown> } = {},
) => new DealerEsimError({ code: code as FailureCode, message: 'message', ...parts })

describe('a failure at an upstream', () => {
  it('has an outcome for every code in the contract', () => {
    expect(Object.keys(OUTCOMES).sort()).toEqual(failureCodes)
  })

  it.each(Object.entries(OUTCOMES))('with code %s is %s', (code, kind) => {
    expect(outcomeOfFailure(failure(code), true).kind).toBe(kind)
  })

  it('without an answer is unknown if the request was sent, and is retried otherwise', () => {
    for (const code of ['NO_ANSWER', 'ANSWER_UNREADABLE']) {
      expect(outcomeOfFailure(failure(code), true)).toMatchObject({ kind: 'unknown', down: true })
      expect(outcomeOfFailure(failure(code), false)).toMatchObject({ kind: 'retry', down: true })
    }
  })

  it('is retried after the time that the upstream states, or within half a minute of a daily limit', () => {
    expect(outcomeOfFailure(failure('101007', { retryAfterS: 7 }), true)).toMatchObject({ afterMs: 7_000 })
    expect(outcomeOfFailure(failure('101007'), true)).toMatchObject({ afterMs: 1_000 })
    expect(outcomeOfFailure(failure('200014'), true)).toMatchObject({ afterMs: 30_000 })
    expect(outcomeOfFailure(failure('200007'), true)).toMatchObject({ kind: 'retry', noMoney: true })
  })

  it('is refused, lacks money or waits for the next day, depending on the limit that it exceeds', () => {
    const outcome = (scope?: string) => outcomeOfFailure(failure('200014', { data: scope ? { scope } : {} }), true)
    for (const scope of [undefined, 'TENANT_DAY', 'KEY_DAY', 'A_LATER_ONE']) {
      expect(outcome(scope), scope).toMatchObject({ kind: 'retry', afterMs: 30_000 })
    }
    expect(outcome('KEY_TOTAL')).toMatchObject({ kind: 'retry', noMoney: true })
    expect(outcome('KEY_ORDER')).toMatchObject({ kind: 'refused' })
    expect(outcomeOfFailure(failure('101009'), true)).toMatchObject({ kind: 'retry', down: true })
  })

  it('of a query counts for the breaker if the upstream was not reached or refuses the account', () => {
    const refusals = ['101002', '101003', '101004', '101005', '101009']
    expect(refusals.map((code) => isDown({ failure: failure(code) }))).toEqual(refusals.map(() => true))
    expect(isDown({ failure: failure('200013'), network: 'reset' })).toBe(true)
    expect(['200013', '101007', '000108'].some((code) => isDown({ failure: failure(code) }))).toBe(false)
  })

  it('counts for the breaker if it would affect every order', () => {
    const affectsAll = (error: DealerEsimError) => 'down' in outcomeOfFailure(error, true)
    expect(['000002', '000109', '101003', '101005'].map((code) => affectsAll(failure(code)))).toEqual(
      Array(4).fill(true),
    )
    expect(affectsAll(failure('000001', { httpStatus: 500 }))).toBe(true)
    expect(['000105', '200007', '200011', '200012', '310241', '101007'].some((code) => affectsAll(failure(code)))).toBe(
      false,
    )
  })
})

const KEY = 'ORDER-1'
const PROFILE = {
  transactionId: KEY,
  iccid: '8999900000000000017',
  smdpAddress: 'smdp.example.com',
  matchingId: 'M-1',
  ac: 'LPA:1$smdp.example.com$M-1$$1',
  confirmationCode: '4711',
  pin: '1234',
  puk: null,
  imsi: null,
  msisdn: '+8190',
  eid: null,
  apn: 'internet',
  esimStatus: 'GOT_RESOURCE',
  smdpStatus: 'RELEASED',
  installBefore: '2027-01-01T00:00:00.000Z',
} as Profile

function order(parts: Partial<QueryAnswer>): QueryAnswer {
  return {
    transactionId: KEY,
    orderStatus: 'ALLOCATING',
    profileList: [],
    packageInfoList: [{ failureReason: null }],
    ...parts,
  } as QueryAnswer
}

describe('an order at an upstream', () => {
  it.each([
    ['PAID', 'unknown'],
    ['ALLOCATING', 'unknown'],
    ['UNDER_REVIEW', 'unknown'],
    ['DELIVERED', 'unknown'], // without its eSIM: it will be queried again
    ['FAILED', 'refused'],
    ['CANCELLED', 'refused'],
  ] as const)('that is %s and has no eSIM counts as %s', (orderStatus, kind) => {
    expect(outcomeOfOrder(order({ orderStatus }), KEY).kind).toBe(kind)
  })

  it('that failed carries the reason as its message', () => {
    const packageInfoList = [{ failureReason: 'out of stock' }] as QueryAnswer['packageInfoList']
    const failed = order({ orderStatus: 'FAILED', packageInfoList })
    expect(outcomeOfOrder(failed, KEY)).toMatchObject({ message: 'out of stock' })
  })

  it('that has an eSIM is delivered with all of its members', () => {
    const { transactionId: _, puk: __, imsi: ___, eid: ____, ...members } = PROFILE
    expect(outcomeOfOrder(order({ orderStatus: 'DELIVERED', profileList: [PROFILE] }), KEY)).toEqual({
      kind: 'delivered',
      esim: { ...members, installBefore: new Date('2027-01-01') },
    })
  })

  it('includes its charge, whether delivered or not, unless the charge is malformed', () => {
    const debited = { amount: 27_000, currencyCode: 'USD' }
    const charged = { amount: 27_000n, currencyCode: 'USD' }
    const open = (parts: object) => outcomeOfOrder(order({ orderStatus: 'ALLOCATING', ...parts }), KEY)
    expect(open(debited)).toMatchObject({ kind: 'unknown', charged })
    expect(outcomeOfOrder(order({ ...debited, profileList: [PROFILE] }), KEY)).toMatchObject({ esim: { charged } })
    for (const odd of [{ amount: '27000' }, { amount: 2.7 }, { amount: -1 }, { amount: null }, { currencyCode: '$' }]) {
      expect(open({ ...debited, ...odd }), JSON.stringify(odd)).toMatchObject({ charged: undefined })
    }
  })

  it('whose eSIM is unreadable is in doubt, and is neither refunded nor bought again', () => {
    for (const odd of [{ ac: null }, { iccid: 'pending' }]) {
      const profileList = [{ ...PROFILE, ...odd } as unknown as Profile]
      expect(outcomeOfOrder(order({ orderStatus: 'DELIVERED', profileList }), KEY).kind).toBe('unknown')
    }
  })

  it('whose eSIM was cancelled is refused', () => {
    const profileList = [{ ...PROFILE, esimStatus: 'CANCEL' as const }]
    expect(outcomeOfOrder(order({ orderStatus: 'DELIVERED', profileList }), KEY).kind).toBe('refused')
  })
})
