import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#members.ts'
import type { RestAnswer } from '#rest-client.ts'
import { Unreadable } from '#unreadable-entry.ts'
import { productOf } from './lists.ts'
import { isRefusal, outcomeOfCreate, outcomeOfOrder, outcomeOfRefusal } from './outcome.ts'

const ICCID = '8948010000000000016'

function reply(status: number, body?: JsonObject): RestAnswer {
  return { kind: 'reply', status, body, retryAfterMs: undefined, time: undefined }
}
const failure = (sent: boolean): RestAnswer => ({ kind: 'failed', phase: 'sent', sent, message: 'broken' })
const refusal = (status: number) => reply(status, { statusCode: status, message: 'no' })

describe('the first step', () => {
  it('counts as having created an order only if the answer identifies one', () => {
    expect(outcomeOfCreate(reply(200, { statusCode: 200, result: { orderId: 'MM-1' } }))).toEqual({
      kind: 'created',
      orderId: 'MM-1',
    })
    for (const body of [undefined, {}, { result: {} }, { result: { orderId: '' } }, { result: { orderId: 7 } }]) {
      expect(outcomeOfCreate(reply(200, body))).toMatchObject({ kind: 'retry', down: true })
    }
  })

  it.each([400, 404, 409, 422, 429])('refused with %i has bought nothing, and will not do so later', (status) => {
    expect(outcomeOfCreate(refusal(status))).toMatchObject({ kind: 'refused' })
  })

  it.each([401, 403, 408, 455, 500, 503])('that fails with %i is tried again', (status) => {
    expect(outcomeOfCreate(refusal(status))).toMatchObject({ kind: 'retry', down: true })
  })

  it('is never in doubt, because only the completion buys anything', () => {
    for (const sent of [true, false]) expect(outcomeOfCreate(failure(sent))).toMatchObject({ kind: 'retry' })
    expect(outcomeOfCreate(reply(404))).toMatchObject({ kind: 'retry' })
  })
})

it.each([401, 403, 408, 500])('a completion that fails with %i does not count as refused', (status) => {
  expect(isRefusal(refusal(status))).toBe(false)
})

it('only an answer from MobiMatter counts as a refusal, not one from a proxy', () => {
  expect(isRefusal(reply(400))).toBe(false)
  expect(isRefusal(failure(true))).toBe(false)
  expect(isRefusal(refusal(400))).toBe(true)
})

it('an order is tried again if the wallet is empty or the provider is down', () => {
  expect(outcomeOfRefusal(refusal(402))).toMatchObject({ kind: 'retry', noMoney: true })
  expect(outcomeOfRefusal(refusal(455))).toMatchObject({ kind: 'retry', down: true })
  expect(outcomeOfRefusal(refusal(429))).toMatchObject({ kind: 'refused' })
})

describe('an order', () => {
  const details = {
    LOCAL_PROFILE_ASSISTANT: 'LPA:1$smdp.example.com$MATCH',
    ICCID,
    ACCESS_POINT_NAME: 'internet',
    PHONE_NUMBER: '',
  }
  function orderOf(orderState: string, named: Record<string, string> = {}, changes: JsonObject = {}): JsonObject {
    const lineItemDetails = Object.entries(named).map(([name, value]) => ({ name, value }))
    return {
      orderId: 'MM-1',
      orderState,
      currencyCode: 'USD',
      orderLineItem: { wholesalePrice: 2.55, lineItemDetails },
      ...changes,
    }
  }
  const outcome = (order: JsonObject, topUp?: { iccid: string; key: string; matchingId: string }) =>
    outcomeOfOrder(order, 'MM-1', { topUp })

  it('that is Completed is delivered with its codes and its exact charge', () => {
    const charged = { amount: 25_500n, currencyCode: 'USD' }
    const esim = { iccid: ICCID, smdpAddress: 'smdp.example.com', matchingId: 'MATCH', apn: 'internet', charged }
    expect(outcome(orderOf('Completed', details))).toEqual({ kind: 'delivered', esim, reference: 'MM-1' })
    const { LOCAL_PROFILE_ASSISTANT: _, ...others } = details
    const parts = { ...others, SMDP_ADDRESS: 'smdp.example.com', ACTIVATION_CODE: 'MATCH' }
    expect(outcome(orderOf('Completed', parts))).toEqual({ kind: 'delivered', esim, reference: 'MM-1' })
  })

  it('that is Completed without readable codes is in doubt', () => {
    expect(outcome(orderOf('Completed'))).toMatchObject({ kind: 'unknown', reference: 'MM-1' })
    expect(outcome(orderOf('Completed', { ...details, ICCID: 'X' }))).toMatchObject({ kind: 'unknown' })
  })

  it('for a top-up must identify the intended eSIM', () => {
    const topUp = { key: 'K', iccid: ICCID, matchingId: 'MATCH' }
    expect(outcome(orderOf('Completed', details), topUp)).toMatchObject({ kind: 'toppedUp', reference: 'MM-1' })
    const other = { ...topUp, iccid: '8948010000000000024' }
    expect(outcome(orderOf('Completed', details), other)).toMatchObject({ kind: 'unknown' })
  })

  it('that is Processing counts as ordered', () => {
    expect(outcome(orderOf('Processing'))).toMatchObject({ kind: 'ordered', reference: 'MM-1' })
  })

  it('counts as held or ended if it was never completed', () => {
    expect(outcome(orderOf('Created'))).toEqual({ kind: 'held' })
    for (const state of ['Expired', 'Cancelled']) expect(outcome(orderOf(state))).toMatchObject({ kind: 'ended' })
  })

  it('that was cancelled after its delivery is refused', () => {
    expect(outcome(orderOf('Cancelled', details))).toMatchObject({ kind: 'refused' })
  })

  it.each(['Failed', 'Refunded'])('that is %s without an eSIM is refused', (state) => {
    expect(outcome(orderOf(state))).toMatchObject({ kind: 'refused' })
  })

  it('that has failed although it has an eSIM is in doubt', () => {
    expect(outcome(orderOf('Failed', details))).toMatchObject({ kind: 'unknown' })
  })

  it.each([[null], ['odd'], [{ name: 7, value: ICCID }]])(
    'that has failed with an unreadable detail, which may be its eSIM, is in doubt (%j)',
    (odd) => {
      const orderLineItem = { wholesalePrice: 2.55, lineItemDetails: [odd] }
      expect(outcome(orderOf('Failed', {}, { orderLineItem }))).toMatchObject({ kind: 'unknown', reference: 'MM-1' })
    },
  )

  it.each(['', 7])('in an undocumented state (%s) is in doubt', (orderState) => {
    expect(outcome(orderOf('', {}, { orderState }))).toMatchObject({ kind: 'unknown' })
  })

  it('with a different number never counts as ours', () => {
    expect(outcome(orderOf('Completed', details, { orderId: 'MM-2' }))).toMatchObject({ kind: 'unknown' })
  })
})

describe('a product', () => {
  const product = (changes: JsonObject = {}, details: Record<string, string> = {}) => ({
    productId: 'P',
    productCategory: 'esim_realtime',
    wholesalePrice: 4.5,
    currencyCode: 'USD',
    countries: ['JP', 'europe'],
    productDetails: Object.entries({
      PLAN_TITLE: 'Japan 5 GB',
      PLAN_DATA_LIMIT: '5',
      PLAN_DATA_UNIT: 'GB',
      PLAN_VALIDITY: '720',
      ...details,
    }).map(([name, value]) => ({ name, value })),
    ...changes,
  })

  it('is read with its volume in bytes, its validity in days and its exact cost', () => {
    expect(productOf(product())).toEqual({
      productCode: 'P',
      name: 'Japan 5 GB',
      packageType: 'BASE',
      countries: ['JP'],
      volume: 5_000_000_000n,
      isDayPass: false,
      durationDays: 30,
      cost: 45_000n,
      currencyCode: 'USD',
    })
    expect(productOf(product({ productCategory: 'esim_addon' }))).toMatchObject({ packageType: 'TOPUP' })
    expect(productOf(product({}, { PLAN_DATA_LIMIT: '500', PLAN_DATA_UNIT: 'MB' }))).toMatchObject({
      volume: 500_000_000n,
    })
    expect(productOf(product({}, { PLAN_DATA_LIMIT: 'Unlimited' }))).toMatchObject({ volume: null })
    expect(productOf(product({}, { PLAN_VALIDITY: '30' }))).toMatchObject({ durationDays: 1 })
    expect(productOf(product({ wholesalePrice: 1.23456 }))).toMatchObject({ cost: 12_346n })
  })

  it.each([
    { productId: 7 },
    { productCategory: null },
    { wholesalePrice: 'free' },
    { wholesalePrice: -1 },
    { currencyCode: 'dollars' },
    { productDetails: [] },
  ])('is unreadable with %j', (changes) => {
    expect(productOf(product(changes))).toBeInstanceOf(Unreadable)
  })

  it('is unreadable if its validity is in minutes', () => {
    expect(productOf(product({}, { PLAN_DATA_UNIT: 'minutes' }))).toBeInstanceOf(Unreadable)
  })

  it('is left out if it has another category, lasts less than a day, or has no data', () => {
    expect(productOf(product({ productCategory: 'esim_replacement' }))).toBeUndefined()
    expect(productOf(product({}, { PLAN_VALIDITY: '12' }))).toBeUndefined()
    expect(productOf(product({}, { PLAN_DATA_LIMIT: '0' }))).toBeUndefined()
  })
})
