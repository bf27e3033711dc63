import { describe, expect, it } from 'vitest'
import { parseAnswer } from './client.ts'
import { rowsOf } from './decode.ts'
import { outcomeOfFailure, outcomeOfRow, outcomeOfToppedUpRow } from './outcome.ts'

/** The codes of the interface. `retry` means that nothing was bought. */
const ORDERS = {
  refused: ['000105', '000106', '000107', '200005', '200006', '200008', '200011', '310241', '310243'],
  retry: ['000101', '000102', '000103', '000104', '101001', '101002', '101003', '200007', '401001'],
  unknown: ['000001', '200002', '200009', '200010', '310272', '310402', '310403', '900001', '999999'],
}

describe('a failed order', () => {
  it.each(Object.entries(ORDERS).flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)))(
    '%s counts as %s',
    (code, kind) => {
      expect(outcomeOfFailure({ kind: 'failed', code, message: 'message' }, false).kind).toBe(kind)
    },
  )

  it('without an answer is unknown if it may have been executed, and is retried otherwise', () => {
    expect(outcomeOfFailure({ kind: 'none', message: 'message', sent: true }, false).kind).toBe('unknown')
    expect(outcomeOfFailure({ kind: 'none', message: 'message', sent: false }, false).kind).toBe('retry')
  })

  it('for a top-up is also refused because of its eSIM’s state', () => {
    for (const code of ['200002', '310403']) {
      expect(outcomeOfFailure({ kind: 'failed', code, message: 'message' }, true).kind).toBe('refused')
    }
  })
})

describe('an answer', () => {
  it.each([
    ['a success without data', 200, '{"success":true,"errorCode":null,"obj":null}', { kind: 'done', obj: {} }],
    ['errorMsg', 200, '{"success":false,"errorCode":"200011","errorMsg":"none"}', { message: '200011: none' }],
    ['errorMessage', 400, '{"success":false,"errorCode":"200011","errorMessage":"none"}', { message: '200011: none' }],
    ['a page of a proxy', 502, '<html>', { kind: 'none', sent: true }],
    ['a time-out of a proxy', 408, '', { kind: 'none', sent: true }],
    ['a refusal of a proxy', 403, '<html>', { kind: 'none', sent: false }],
    ['a page with status 200', 200, '<html>', { kind: 'none', sent: true }],
    ['a failure without a code', 200, '{"success":false}', { kind: 'none', sent: true }],
    ['a list', 200, '[]', { kind: 'none', sent: true }],
  ])('with %s is decoded correctly', (_, status, text, expected) => {
    expect(parseAnswer(status, text)).toMatchObject(expected)
  })
})

const ESIM = {
  orderNo: 'B1',
  transactionId: 'KEY-1',
  esimTranNo: 'E1',
  iccid: '8948092102100000012',
  ac: 'LPA:1$smdp.example.com$MATCH-1',
  esimStatus: 'GOT_RESOURCE',
  smdpStatus: 'RELEASED',
  pin: '',
  expiredTime: '2027-05-24T01:06:53+0000',
  packageList: [{ transactionId: 'KEY-1' }, { transactionId: 'TOP-1' }],
}
const row = (changes: object = {}) => rowsOf([{ ...ESIM, ...changes }])[0]!

describe('an order’s eSIM', () => {
  it('is delivered with the order number as its reference', () => {
    expect(outcomeOfRow(row(), 'KEY-1', undefined)).toEqual({
      kind: 'delivered',
      reference: 'B1',
      esim: {
        iccid: ESIM.iccid,
        smdpAddress: 'smdp.example.com',
        matchingId: 'MATCH-1',
        ac: ESIM.ac,
        esimStatus: 'GOT_RESOURCE',
        smdpStatus: 'RELEASED',
        charged: undefined,
      },
    })
  })

  it.each([
    ['of another order is unknown', { transactionId: 'KEY-2' }, 'unknown'],
    ['without a code is unknown', { ac: '' }, 'unknown'],
    ['with an invalid ICCID is unknown', { iccid: 'none' }, 'unknown'],
    ['in a state that we do not know is delivered', { esimStatus: 'NEW_STATE' }, 'delivered'],
    ['that was cancelled is refused', { esimStatus: 'CANCEL' }, 'refused'],
  ])('%s', (_, changes, kind) => {
    expect(outcomeOfRow(row(changes), 'KEY-1', undefined).kind).toBe(kind)
  })
})

describe('a top-up', () => {
  it('is found among the packages of its eSIM, with the new expiry time', () => {
    const expiredTime = new Date('2027-05-24T01:06:53Z')
    expect(outcomeOfToppedUpRow(row(), 'TOP-1')).toEqual({ kind: 'toppedUp', expiredTime })
  })

  it('that is not among the eSIM’s packages was not bought', () => {
    expect(outcomeOfToppedUpRow(row(), 'TOP-2').kind).toBe('retry')
  })

  it('stays in doubt if a package has no key', () => {
    expect(outcomeOfToppedUpRow(row({ packageList: [{}] }), 'TOP-2').kind).toBe('unknown')
  })
})
