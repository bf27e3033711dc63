import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import { Unreadable } from '#unreadable-entry.ts'
import { orderOf } from './decode.ts'
import { productOf } from './lists.ts'
import { outcomeOfFind, outcomeOfOrder, outcomeOfPurchase } from './outcome.ts'
import { assignmentsOf, decideCancel, reportOf } from './reports.ts'

const ICCID = '8948010000000000016'

function reply(status: number, body?: JsonObject): RestAnswer {
  return { kind: 'reply', status, body, retryAfterMs: undefined, time: undefined }
}
const failure = (sent: boolean): RestAnswer => ({ kind: 'failed', phase: 'sent', sent, message: 'broken' })
const refusal = (status: number, message = 'no') => reply(status, { message })

describe('an order', () => {
  it('counts as placed only if its answer contains a reference', () => {
    expect(outcomeOfOrder(reply(200, { orderReference: 'R' }))).toMatchObject({ kind: 'placed' })
    for (const body of [undefined, {}, { orderReference: '' }]) {
      expect(outcomeOfOrder(reply(200, body))).toMatchObject({ kind: 'unknown', down: true })
    }
  })

  it.each([408, 500, 502, 503, 504])('with the answer %i is in doubt', (status) => {
    expect(outcomeOfOrder(refusal(status))).toMatchObject({ kind: 'unknown' })
  })

  it('is tried again if it was not sent, and is in doubt if it was not answered', () => {
    expect(outcomeOfOrder(failure(false))).toMatchObject({ kind: 'retry' })
    expect(outcomeOfOrder(failure(true))).toMatchObject({ kind: 'unknown' })
  })

  it.each([401, 403, 429])('with the answer %i is tried again', (status) => {
    expect(outcomeOfOrder(refusal(status))).toMatchObject({ kind: 'retry' })
  })

  it('counts as refused only if eSIM Go itself refuses', () => {
    expect(outcomeOfOrder(refusal(400, 'no such bundle'))).toMatchObject({ kind: 'refused' })
    expect(outcomeOfOrder(reply(404))).toMatchObject({ kind: 'retry', down: true })
  })

  it.each(['insufficient Balance', 'Not enough credit', 'credit limit reached', 'insufficient funds'])(
    'that is refused with “%s” is tried again once the account has money',
    (message) => {
      expect(outcomeOfOrder(refusal(400, message))).toMatchObject({ kind: 'retry', noMoney: true })
    },
  )

  it('for an account that eSIM Go has deactivated (410) is tried again, whatever the message says', () => {
    for (const message of ['account deactivated', 'no credit', 'no such bundle']) {
      const outcome = outcomeOfOrder(refusal(410, message))
      expect(outcome).toMatchObject({ kind: 'retry', down: true })
      expect(outcome).not.toHaveProperty('noMoney')
    }
  })
})

describe('a purchase', () => {
  const members = (esims: JsonObject[] | undefined, changes: JsonObject = {}): JsonObject => ({
    orderReference: 'R',
    order: [{ type: 'bundle', item: 'B', quantity: 1, ...(esims ? { esims } : {}) }],
    total: 1.2,
    currency: 'USD',
    status: 'completed',
    createdDate: '2026-01-02T03:04:05.000Z',
    ...changes,
  })
  const ESIM = { iccid: ICCID, matchingId: 'MATCH', smdpAddress: 'smdp.example.com' }
  const outcome = (order: JsonObject, topUp?: { iccid: string; key: string; matchingId: string }) =>
    outcomeOfPurchase(orderOf(order)!, { productCode: 'B', topUp })

  it('is delivered with its codes and its exact charge', () => {
    const esim = { ...ESIM, charged: { amount: 12_000n, currencyCode: 'USD' } }
    expect(outcome(members([ESIM]))).toEqual({ kind: 'delivered', esim, reference: 'R' })
  })

  it('without an eSIM counts as ordered, and as in doubt once it is completed', () => {
    expect(outcome(members(undefined, { status: 'processing' }))).toMatchObject({ kind: 'ordered', reference: 'R' })
    expect(outcome(members([]))).toMatchObject({ kind: 'unknown', reference: 'R' })
  })

  it('is in doubt with unreadable codes, with two eSIMs or with a different bundle', () => {
    const others = [
      [{ ...ESIM, iccid: 'X' }],
      [{ ...ESIM, matchingId: '' }],
      [{ ...ESIM, smdpAddress: 7 }],
      [ESIM, ESIM],
    ]
    for (const esims of others) expect(outcome(members(esims as JsonObject[]))).toMatchObject({ kind: 'unknown' })
    expect(outcome(members([ESIM], { order: [{ item: 'C', esims: [ESIM] }] }))).toMatchObject({ kind: 'unknown' })
  })

  it('for a top-up must identify the intended eSIM', () => {
    const topUp = { key: 'K', iccid: ICCID, matchingId: 'MATCH' }
    expect(outcome(members([{ iccid: ICCID }]), topUp)).toMatchObject({ kind: 'toppedUp', reference: 'R' })
    expect(outcome(members([ESIM]), { ...topUp, iccid: '8948010000000000024' })).toMatchObject({ kind: 'unknown' })
  })

  it('is readable only with a reference and one bundle', () => {
    expect(orderOf(members([ESIM], { orderReference: undefined }))).toBeUndefined()
    expect(orderOf(members([ESIM], { order: [] }))).toBeUndefined()
    expect(orderOf(members([ESIM], { order: [{ item: 'B' }, { item: 'B' }] }))).toBeUndefined()
  })

  it('whose query fails or concerns another order stays in doubt', () => {
    const find = (answer: RestAnswer) => outcomeOfFind(answer, 'R', { productCode: 'B' })
    expect(find(refusal(503, 'Processing'))).toMatchObject({ kind: 'ordered', reference: 'R' })
    for (const answer of [refusal(404), refusal(403), refusal(500), failure(false), reply(200)]) {
      expect(find(answer)).toMatchObject({ kind: 'unknown', reference: 'R' })
    }
    expect(find(reply(200, members([ESIM], { orderReference: 'S' })))).toMatchObject({ kind: 'unknown' })
    expect(find(reply(200, members([ESIM])))).toMatchObject({ kind: 'delivered' })
  })
})

describe('an eSIM’s bundles', () => {
  const TIME = new Date('2026-01-02T00:00:00Z')
  const bundlesOf = (...rows: JsonObject[]) =>
    assignmentsOf(rows.map(({ name = 'B', ...row }) => ({ name, assignments: [row] })))
  const FRESH = { bundleState: 'Queued', initialQuantity: 1_000, remainingQuantity: 1_000 }

  it('can be revoked only if there is exactly one, and it has not started', () => {
    const revoked = { ...FRESH, bundleState: 'Revoked' }
    expect(decideCancel(bundlesOf(FRESH), 'B')).toBe('revocable')
    expect(decideCancel(bundlesOf(revoked), 'B')).toEqual({ kind: 'cancelled' })
    expect(decideCancel(bundlesOf(revoked, { ...FRESH, name: 'C' }), 'B')).toMatchObject({ kind: 'refused' })
    expect(decideCancel(bundlesOf(FRESH, FRESH), 'B')).toMatchObject({ kind: 'refused' })
    expect(decideCancel(bundlesOf({ ...FRESH, bundleState: 'Active' }), 'B')).toMatchObject({ kind: 'refused' })
    expect(decideCancel(bundlesOf({ ...FRESH, remainingQuantity: 1 }), 'B')).toMatchObject({ kind: 'refused' })
    expect(decideCancel([], 'B')).toMatchObject({ kind: 'unknown' })
  })

  it('are added up in a report, whichever form of the interface is used', () => {
    const active = { ...FRESH, bundleState: 'Active', remainingQuantity: 400 }
    const reports = [bundlesOf(active, FRESH), assignmentsOf([{ name: 'B', ...active }, FRESH])]
    for (const rows of reports) expect(reportOf(rows, TIME)).toEqual({ time: TIME, esimStatus: 'IN_USE', usage: 600n })
    const depleted = { ...FRESH, bundleState: 'Depleted', remainingQuantity: 0 }
    expect(reportOf(bundlesOf(depleted), TIME)).toMatchObject({ esimStatus: 'USED_UP', usage: 1_000n })
    expect(reportOf(bundlesOf({ ...active, unlimited: true }), TIME)).toEqual({ time: TIME, esimStatus: 'IN_USE' })
    expect(reportOf(bundlesOf({ ...FRESH, bundleState: 'Revoked' }), TIME)).toBeUndefined()
    const odd = assignmentsOf([{ name: 'B', assignments: [active] }, null])
    expect(reportOf(odd, TIME)).toEqual({ time: TIME, esimStatus: 'IN_USE' })
    expect(decideCancel(odd, 'B')).toMatchObject({ kind: 'unknown' })
  })
})

describe('a catalogue bundle', () => {
  const bundle = (changes: JsonObject = {}) => ({
    name: 'esim_5GB_30D_JP_V2',
    description: 'Japan 5 GB',
    countries: [{ name: 'Japan', iso: 'JP' }, 'Asia'],
    dataAmount: 5_000,
    duration: 30,
    unlimited: false,
    price: 4.5,
    billingType: 'FixedCost',
    ...changes,
  })

  it('is read with its volume in bytes and its exact cost in the account’s currency', () => {
    expect(productOf(bundle(), 'USD')).toEqual({
      productCode: 'esim_5GB_30D_JP_V2',
      name: 'Japan 5 GB',
      packageType: 'BASE',
      countries: ['JP'],
      volume: 5_000_000_000n,
      isDayPass: false,
      durationDays: 30,
      cost: 45_000n,
      currencyCode: 'USD',
    })
    expect(productOf(bundle({ unlimited: true, dataAmount: -1 }), 'USD')).toMatchObject({ volume: null })
  })

  it.each([{ dataAmount: 0 }, { billingType: 'PayAsYouGo' }])(
    'is left out if it cannot be sold here (%j)',
    (changes) => {
      expect(productOf(bundle(changes), 'USD')).toBeUndefined()
    },
  )

  it.each([{ name: '' }, { price: 'free' }, { price: -1 }, { dataAmount: -1 }, { duration: 0 }])(
    'is unreadable with %j',
    (changes) => {
      expect(productOf(bundle(changes), 'USD')).toBeInstanceOf(Unreadable)
    },
  )
})
