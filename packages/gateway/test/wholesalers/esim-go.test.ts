import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { esimGoSupplier } from '@dealer-esim/wholesalers/esim-go/esim-go.ts'
import { createOrderStore } from '@dealer-esim/wholesalers/esim-go/progress.ts'
import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createEsimGoTestbed, TIMEOUT_MS } from './esim-go-testbed.ts'

/* The supplier's purchases from its wholesaler's simulator, where they are counted. */

const testbed = await createEsimGoTestbed()
const { buy, buyByHand, config, create, loseOrder, order, other, products, query, requestOf } = testbed
const { shop, simulator, supplier, topUpOf, untilDecided } = testbed
afterAll(() => testbed.close())
beforeEach(() => simulator.clearFaults())

const takenOf = ({ productCode }: { productCode: string }) => simulator.counters().takenByProduct[productCode] ?? 0
const iccidsOf = (outcomes: Outcome[]) =>
  new Set(outcomes.map((one) => (one.kind === 'delivered' ? one.esim.iccid : one)))

describe('a purchase', () => {
  it('returns its codes, its exact charge and its reference', async () => {
    const request = requestOf()
    const { cost, currencyCode } = products.find(({ productCode }) => productCode === request.productCode)!
    const outcome = await order(request)
    const sold = simulator.esims().at(-1)!
    expect(outcome).toMatchObject({
      kind: 'delivered',
      esim: { iccid: sold.iccid, matchingId: sold.matchingId, charged: { amount: cost, currencyCode } },
      reference: sold.reference,
    })
  })

  it('is never repeated with the same key', async () => {
    const request = requestOf()
    const first = await order(request)
    expect(await order(request, other)).toEqual(first)
    expect(takenOf(request)).toBe(1)
  })

  it.each(['answer-lost', 'answer-cut', 'answer-garbled', 'server-error-after', 'slow-answer'] as const)(
    'is found immediately or by a later search if no usable answer arrives (%s)',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order', times: 1, delayMs: 2 * TIMEOUT_MS })
      expect(await order(requestOf())).toMatchObject({ kind: 'delivered' })
      loseOrder(kind)
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.clearFaults()
      expect(await query(request, 'CHECK')).toMatchObject({ kind: 'delivered', reference: expect.any(String) })
      expect(await query(request)).toMatchObject({ kind: 'delivered' })
      expect(takenOf(request)).toBe(1)
    },
  )

  it.each(['request-lost', 'server-error-before', 'hang', 'down'] as const)(
    'that may not have arrived (%s) is unknown until a search shows that nothing was bought',
    async (kind) => {
      simulator.addFault({ kind, operation: 'order' })
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.clearFaults()
      expect(await query(request)).toMatchObject({ kind: 'retry' })
      expect(await order(request)).toMatchObject({ kind: 'delivered' })
      expect(takenOf(request)).toBe(1)
    },
  )

  it.each([
    ['out-of-stock', 'refused'],
    ['unknown-package', 'refused'],
    ['no-balance', 'retry'],
    ['rate-limited', 'retry'],
    ['unauthorized', 'retry'],
  ] as const)(
    'with the answer %s counts as %s, and does not delay the next purchase of the bundle',
    async (kind, expected) => {
      simulator.addFault({ kind, operation: 'order', times: 1 })
      const request = requestOf()
      if (kind === 'no-balance') simulator.setBalance(0)
      if (kind === 'no-balance') simulator.clearFaults()
      expect(await order(request)).toMatchObject({ kind: expected })
      simulator.setBalance(100_000_000)
      expect(takenOf(request)).toBe(0)
      expect(await query(request)).toEqual({ kind: 'retry', message: 'the order was never sent' })
      expect(await order(requestOf({ productCode: request.productCode }), other)).toMatchObject({ kind: 'delivered' })
    },
  )

  it('that is delivered later counts as ordered until its delivery', async () => {
    simulator.addFault({ kind: 'delivered-later', operation: 'order', times: 1 })
    const request = requestOf()
    const outcome = await order(request)
    expect(outcome).toMatchObject({ kind: 'ordered', reference: expect.any(String) })
    for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('ordered')
    // Its order is known, so the next order for the bundle does not wait for it.
    await buy(requestOf({ productCode: request.productCode }))
    simulator.deliver((outcome as Extract<Outcome, { kind: 'ordered' }>).reference)
    expect(await query(request)).toMatchObject({ kind: 'delivered' })
    expect(takenOf(request)).toBe(2)
  })

  it('that ends without an eSIM is in doubt', async () => {
    simulator.addFault({ kind: 'delivery-fails', operation: 'order', times: 1 })
    const request = requestOf()
    await order(request)
    expect(await query(request)).toMatchObject({ kind: 'unknown' })
  })

  it.each(['unauthorized', 'rate-limited', 'request-lost', 'answer-garbled', 'server-error-after'] as const)(
    'stays in doubt while a search fails (%s)',
    async (kind) => {
      loseOrder()
      const request = requestOf()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      simulator.addFault({ kind, operation: 'list' })
      for (const purpose of ['RESUME', 'CHECK'] as const) expect((await query(request, purpose)).kind).toBe('unknown')
      simulator.clearFaults()
      expect(await query(request)).toMatchObject({ kind: 'delivered' })
    },
  )
})

it.each([
  ['unknown', 'has no bundles', undefined],
  ['retry', 'has several bundles', [{ item: 'A' }, { item: 'B' }]],
] as const)('a purchase missing from the list counts as %s if an order in the list %s', async (kind, _, bundles) => {
  const request = requestOf()
  loseOrder('request-lost')
  expect(await order(request)).toMatchObject({ kind: 'unknown' })
  await buyByHand(requestOf().productCode)
  const changed = changing(({ orders: [newest, ...others], ...rest }) => ({
    ...rest,
    orders: [{ ...newest, order: bundles }, ...others],
  }))
  expect(await query(request, 'RESUME', changed.supplier)).toMatchObject({ kind })
  await changed.close()
})

it('a purchase whose answer contains only a reference is queried by reference, no matter what others buy', async () => {
  const request = requestOf()
  const changed = changing(({ orderReference }) => ({ orderReference }))
  expect(await order(request, changed.supplier)).toMatchObject({ kind: 'unknown', reference: expect.any(String) })
  await changed.close()
  const { iccid } = simulator.esims().at(-1)!
  await buyByHand(request.productCode)
  expect(await query(request)).toMatchObject({ kind: 'delivered', esim: { iccid } })
  expect(takenOf(request)).toBe(2)
})

/** A supplier that receives modified answers. */
// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
function changing(change: (body: any) => object) {
  const outbound = createOutbound()
  const request: Outbound['request'] = async (sent) => {
    const answer = await outbound.request(sent)
    if (answer.kind !== 'answer') return answer
    return { ...answer, body: Buffer.from(JSON.stringify(change(JSON.parse(answer.body.toString())))) }
  }
  const supplier = esimGoSupplier('wholesaler', config, { db: shop.db, outbound: { ...outbound, request } })
  return { supplier, close: () => outbound.close() }
}

describe('simultaneous equal purchases', () => {
  it('wait for each other across all nodes, and each gets its own eSIM even if answers are lost', async () => {
    const { productCode } = requestOf()
    simulator.addFault({ kind: 'answer-lost', operation: 'order', every: 3 })
    simulator.addFault({ kind: 'answer-lost', operation: 'list', every: 2 })
    const requests = Array.from({ length: 10 }, () => requestOf({ productCode }))
    const outcomes = await Promise.all(
      requests.map((request, index) => untilDecided(request, index % 2 === 0 ? supplier : other)),
    )
    expect(iccidsOf(outcomes).size).toBe(10)
    expect(takenOf({ productCode })).toBe(10)
    for (const [index, request] of requests.entries()) expect(await query(request)).toEqual(outcomes[index])
  })

  it('are not sent, even by another node, while one of them is in doubt', async () => {
    const first = requestOf()
    simulator.addFault({ kind: 'slow-request', operation: 'order', times: 1, delayMs: 3 * TIMEOUT_MS })
    expect(await order(first)).toMatchObject({ kind: 'unknown' })
    const second = requestOf({ productCode: first.productCode })
    expect(await order(second, other)).toMatchObject({ kind: 'retry', message: /another purchase of this bundle/ })
    await expect.poll(() => takenOf(first)).toBe(1)
    const found = await query(first)
    expect(found).toMatchObject({ kind: 'delivered' })
    const bought = await order(second, other)
    expect(iccidsOf([found, bought]).size).toBe(2)
    expect(takenOf(first)).toBe(2)
  })

  it('do not wait for purchases of other bundles', async () => {
    loseOrder()
    expect(await order(requestOf())).toMatchObject({ kind: 'unknown' })
    expect(await order(requestOf())).toMatchObject({ kind: 'delivered' })
  })

  it('wait even if their transaction began before another purchase claimed the bundle', async () => {
    const productCode = 'claimed at the same time'
    await shop.db.tx(async (tx) => {
      await tx.query({ text: 'select now()' })
      const claimBy = (db: Pick<Db, 'query'>, key: string) =>
        createOrderStore('wholesaler', db, 60_000).claim({ key, productCode })
      expect(await claimBy(shop.db, 'FIRST-1')).toBe(true)
      expect(await claimBy(tx, 'SECOND-1')).toBe(false)
    })
  })

  it('wait only as long as the earlier order could be mistaken for theirs', async () => {
    const first = requestOf()
    simulator.addFault({ kind: 'request-lost', operation: 'order', times: 1 })
    expect(await order(first)).toMatchObject({ kind: 'unknown' })
    const second = requestOf({ productCode: first.productCode })
    expect(await order(second)).toMatchObject({ kind: 'retry' })
    await shop.db.query({
      text: `update esim_go_claims set claimed_until = now() where supplier = 'wholesaler' and product_code = $1`,
      values: [first.productCode],
    })
    expect(await order(second)).toMatchObject({ kind: 'delivered' })
  })

  it.each(['RESUME', 'CHECK'] as const)(
    'must be distinguished by a person if one of them was made by hand (%s)',
    async (purpose) => {
      const request = requestOf()
      loseOrder()
      expect(await order(request)).toMatchObject({ kind: 'unknown' })
      await buyByHand(request.productCode)
      expect(await query(request, purpose)).toMatchObject({ kind: 'unknown', message: /may be this one/ })
    },
  )

  it('do not take over an order that was made before ours', async () => {
    const request = requestOf()
    await buyByHand(request.productCode)
    for (const operation of ['order', 'list']) simulator.addFault({ kind: 'request-lost', operation, times: 1 })
    expect(await order(request)).toMatchObject({ kind: 'unknown' })
    await shop.db.query({
      text: `update esim_go_orders set sent_at = sent_at + interval '2 minutes' where key = $1`,
      values: [request.key],
    })
    expect(await query(request)).toMatchObject({ kind: 'unknown', message: /may be this one/ })
    expect(takenOf(request)).toBe(1)
  })

  it('with one key by two workers are both recorded, and neither is taken for a different order', async () => {
    const request = requestOf()
    simulator.addFault({ kind: 'slow-request', operation: 'order', times: 1, delayMs: TIMEOUT_MS / 2 })
    const late = order(request)
    await expect.poll(() => simulator.requests().at(-1)?.faults).toEqual(['slow-request'])
    const first = await order(request, other)
    expect(iccidsOf([first, await late]).size).toBe(2)
    expect(takenOf(request)).toBe(2)
    expect(await query(request)).toEqual(first)
    const next = requestOf({ productCode: request.productCode })
    simulator.addFault({ kind: 'request-lost', operation: 'order', times: 1 })
    expect(await order(next)).toMatchObject({ kind: 'unknown' })
    expect(await query(next)).toMatchObject({ kind: 'retry' })
  })

  it('in an account that others also use are never matched', async () => {
    const shared = create({ share: 0.5 })
    const request = requestOf()
    simulator.addFault({ kind: 'answer-lost', operation: 'order', times: 1 })
    expect(await order(request, shared)).toMatchObject({ kind: 'unknown' })
    expect(await query(request, 'RESUME', shared)).toMatchObject({ kind: 'unknown', message: /others buy/ })
  })
})

describe('a top-up', () => {
  it.each([undefined, 'answer-lost', 'answer-garbled', 'server-error-after', 'request-lost', 'slow-answer'] as const)(
    'is added once despite the fault %s',
    async (kind) => {
      const request = topUpOf(await buy())
      if (kind) simulator.addFault({ kind, operation: 'topUp', times: 1, delayMs: 2 * TIMEOUT_MS })
      const before = simulator.counters().toppedUp
      expect(await untilDecided(request)).toMatchObject({ kind: 'toppedUp', charged: { currencyCode: 'USD' } })
      expect(await query(request)).toMatchObject({ kind: 'toppedUp' })
      expect(simulator.counters().toppedUp - before).toBe(1)
      const sold = simulator.esims().find(({ iccid }) => iccid === request.topUp?.iccid)!
      expect(sold.productCodes).toHaveLength(2)
    },
  )

  it('whose answer was lost is not mistaken for an eSIM with the same bundle', async () => {
    const esim = await buy()
    const request = topUpOf(esim)
    simulator.addFault({ kind: 'request-lost', operation: 'topUp', times: 1 })
    expect(await order(request)).toMatchObject({ kind: 'unknown' })
    await buyByHand(esim.productCode)
    expect(await query(request)).toMatchObject({ kind: 'retry' })
  })
})
