import { orderNoOf } from '@dealer-esim/contract'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Charge, Outcome, Supplier, SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { type ItemVerdict, resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { updateSales } from '#sales/update-sales.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminJson } from '../harness/processes/admin-in-process.ts'
import { createScriptedSupplier, newEsim } from '../harness/scripted-supplier.ts'
import { addPackage, addSupplier, addTenant, payOrders, statuses, waitUntil } from '../harness/shop.ts'

/* The supplier's charge, which may differ from the catalogue's cost. */

const COST = 5_000n
const usd = (amount: bigint): Charge => ({ amount, currencyCode: 'USD' })
const deliveredAt = (charged?: Charge): Outcome => ({ kind: 'delivered', esim: { ...newEsim(), charged } })
const REFUSED: Outcome = { kind: 'refused', message: 'none left' }

let shop: AdminTestbed
let loop: Loop | undefined
beforeAll(async () => {
  shop = await createAdminTestbed()
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(() => shop.close())

type Parts = Partial<SupplierTraits> & { query?: Supplier['query'] }
/** Orders one eSIM for each outcome, from a new supplier that returns these outcomes. */
async function sell(supplier: string, outcomes: Outcome[], ended: string, parts: Parts = {}) {
  const tenantId = await addTenant(shop.db)
  await addPackage(shop.db, supplier, [{ supplier, productCode: 'X', cost: COST }])
  const [orderId = ''] = await payOrders(shop.db, tenantId, supplier, { count: outcomes.length })
  const answers = [...outcomes]
  const order = async () => [answers.shift()!]
  const { query, ...traits } = parts
  const script = { name: supplier, order, ...(query && { query }) }
  loop = fulfilmentLoop(createScriptedSupplier(shop, script, { concurrency: 1, ...traits }).deps)
  await waitUntil(async () => (await statuses(shop.db, tenantId))[ended] === 1)
  return { tenantId, orderId }
}

type Item = Record<'supplier' | 'cost' | 'charged' | 'chargedCurrency', unknown>
const chargesOf = async (orderId: string) =>
  (await adminJson('order', 'show', orderNoOf(orderId))).itemList.map(
    ({ supplier, cost, charged, chargedCurrency }: Item) => [supplier, cost, charged, chargedCurrency],
  )

async function monthsOf(supplier: string) {
  await updateSales(shop.db)
  const { monthList } = await adminJson('supplier', 'report')
  return monthList.filter((month: { supplier: string }) => month.supplier === supplier)
}

describe('the supplier report', () => {
  it('uses the supplier’s charge instead of the catalogue cost, and counts the eSIMs with a charge', async () => {
    await sell('dearer', [deliveredAt(usd(6_200n)), deliveredAt(usd(6_300n)), deliveredAt()], 'DELIVERED')
    const counted = { delivered: 3, cost: 17_500, costCurrency: 'USD', charged: 2, chargedCost: 12_500 }
    expect(await monthsOf('dearer')).toMatchObject([counted])
    expect((await admin('supplier', 'report')).stdout).toMatch(/dearer .* 1\.75 USD +2$/m)
  })

  it('contains a separate row for charges in another currency', async () => {
    await sell('abroad', [deliveredAt({ amount: 900_000n, currencyCode: 'JPY' }), deliveredAt()], 'DELIVERED')
    expect(await monthsOf('abroad')).toMatchObject([
      { delivered: 1, cost: 900_000, costCurrency: 'JPY', charged: 1, chargedCost: 900_000 },
      { delivered: 1, cost: 5_000, costCurrency: 'USD', charged: 0, chargedCost: 0 },
    ])
  })
})

describe('a supplier’s price', () => {
  const pricesOf = (supplier: string) =>
    shop.db.query({ text: 'select price from supplier_prices where supplier = $1', values: [supplier] })

  it.each<[string, Outcome, Parts]>([
    ['delivers', deliveredAt(usd(6_200n)), {}],
    [
      'has ordered',
      { kind: 'ordered', message: 'soon', reference: 'R', charged: usd(6_200n) },
      { query: async () => [deliveredAt()] },
    ],
    [
      'is queried',
      { kind: 'ordered', message: 'soon', reference: 'R' },
      { query: async () => [deliveredAt(usd(6_200n))] },
    ],
  ])('is recorded as charged if the supplier %s', async (stated, outcome, parts) => {
    const supplier = stated.replace(' ', '-')
    await addSupplier(shop, supplier, 'sandbox')
    await sell(supplier, [outcome], 'DELIVERED', parts)
    await waitUntil(async () => (await pricesOf(supplier)).length === 1)
    expect(await pricesOf(supplier)).toEqual([{ price: 6_200n }])
  })
})

describe('the charge for an eSIM in doubt', () => {
  const inDoubt: Outcome = { kind: 'unknown', message: 'it has taken it', charged: usd(6_200n) }
  const resolve = (order: { tenantId: string; orderId: string }, verdict: ItemVerdict) =>
    resolveOrder(shop, { ...order, verdict, evidence: 'Ticket 4711' }, { actor: 'cli:test' })

  it('becomes its cost if an operator resolves it as delivered', async () => {
    const order = await sell('doubtful', [inDoubt], 'UNDER_REVIEW', { giveUpAfterMs: 0 })
    const esim = { ...newEsim(), matchingId: 'SETTLED', ac: 'LPA:1$a.example$SETTLED' }
    await resolve(order, { kind: 'delivered', esims: [{ row: 2, esim }] })
    expect(await chargesOf(order.orderId)).toEqual([['doubtful', 5_000, 6_200, 'USD']])
    expect(await monthsOf('doubtful')).toMatchObject([{ delivered: 1, cost: 6_200, charged: 1 }])
  })

  it('is removed if an operator resolves it as refused', async () => {
    const order = await sell('taker', [inDoubt], 'UNDER_REVIEW', { giveUpAfterMs: 0 })
    await resolve(order, { kind: 'refused' })
    expect(await chargesOf(order.orderId)).toEqual([['taker', 5_000, null, null]])
  })

  it('may come from a query, but does not update the current price if the purchase is old', async () => {
    await addSupplier(shop, 'asked', 'stock')
    const query: Supplier['query'] = async ([request]) => {
      if ((await isOld(request!.tenantId)).length > 0) return [deliveredAt(usd(6_200n))]
      const text = `update order_items set requested_at = now() - interval '2 hours' where tenant_id = $1`
      await shop.db.query({ text, values: [request!.tenantId] })
      return [{ kind: 'unknown', message: 'not yet' }]
    }
    const isOld = (tenantId: string) =>
      shop.db.query({
        text: `select from order_items where tenant_id = $1 and requested_at < now() - interval '1 hour'`,
        values: [tenantId],
      })
    const lost: Outcome = { kind: 'unknown', message: 'no answer' }
    const { orderId } = await sell('asked', [lost], 'DELIVERED', { query, giveUpAfterMs: 36_000_000 })
    await loop?.stop(5_000)
    expect(await chargesOf(orderId)).toEqual([['asked', 5_000, 6_200, 'USD']])
    expect(await shop.db.query({ text: `select from supplier_prices where supplier = 'asked'` })).toEqual([])
  })

  it('is not counted for the next supplier', async () => {
    const tenantId = await addTenant(shop.db)
    await addPackage(shop.db, 'NEXT', [
      { supplier: 'first', productCode: 'X', cost: COST },
      { supplier: 'sandbox', productCode: 'X', cost: COST + 1n },
    ])
    const [orderId = ''] = await payOrders(shop.db, tenantId, 'NEXT')
    const traits = { timeoutMs: 100 }
    loop = fulfilmentLoop(
      createScriptedSupplier(
        shop,
        { name: 'first', order: async () => [inDoubt], query: async () => [REFUSED] },
        traits,
      ).deps,
    )
    await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
    expect(await chargesOf(orderId)).toEqual([['sandbox', 5_001, null, null]])
  })
})
