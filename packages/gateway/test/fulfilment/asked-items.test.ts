import { orderNoOf } from '@dealer-esim/contract'
import type { Outcome, Supplier, SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getOrderWithProfiles } from '#esims/query-order.ts'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { cancelOrder } from '#fulfilment/review/cancel-order.ts'
import { runClaim } from '#fulfilment/run-claim.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { openShop } from '../harness/open-shop.ts'
import { createScriptedSupplier, deliver, newEsim } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, eventsOf, payOrders, type Shop, waitUntil, walletOf } from '../harness/shop.ts'

/*
 * While a supplier is being called, only the open attempt shows it: the item and its order are written with the outcome, or
 * after a second. Anyone who locks the order in the meantime, or takes it over, sees the item as ASKED.
 */

let shop: Shop

beforeAll(async () => {
  shop = await openShop()
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X', cost: 7_000n }])
})
afterAll(() => shop.close())

/** A claimed order: its attempts are committed, but no supplier has been called yet. */
async function claimed(script: Partial<Supplier> = {}, traits: Partial<SupplierTraits> = {}, count = 1) {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'ODD', { count })
  const { deps, supplied } = createScriptedSupplier(shop, script, traits)
  const claim = await claimDueOrders(deps, tenantId, 10)
  return { tenantId, orderId: orderId!, deps, supplied, claim }
}

const rows = (tenantId: string) =>
  shop.db.query({
    text: `select o.order_status, i.item_status, i.supplier, i.product_code, i.cost, i.attempts
           from order_items i join orders o using (tenant_id, order_id) where i.tenant_id = $1 order by i.item_no`,
    values: [tenantId],
  })

const WAITING = { itemStatus: 'WAITING', supplier: null, productCode: null, cost: null, attempts: 0 }
const TERMS = { supplier: 'odd', productCode: 'X', cost: 7_000n, attempts: 1 }

const expireLease = (tenantId: string) =>
  shop.db.query({
    text: `update orders set lease_until = now() - interval '1 second' where tenant_id = $1`,
    values: [tenantId],
  })

const historyOf = async (tenantId: string, orderId: string) =>
  (await getOrderWithProfiles({ ...shop, links: { publicUrl: '' } }, tenantId, { orderNo: orderNoOf(orderId) }))
    .statusHistory

it('an order that is answered quickly is written only with its outcome, and emits a single event', async () => {
  const { tenantId, orderId, deps, claim } = await claimed()
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'PAID', ...WAITING }])
  await runClaim(deps, claim, shop.clock.monotonic())
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'DELIVERED', itemStatus: 'DELIVERED', ...TERMS }])
  const events = await eventsOf(shop.db, tenantId)
  expect(events.map(({ content }) => [content.orderStatus, content.sequence])).toEqual([['DELIVERED', 2]])
  const history = await historyOf(tenantId, orderId)
  expect(history.map(({ orderStatus }) => orderStatus)).toEqual(['PAID', 'ALLOCATING', 'DELIVERED'])
  expect(history[1]!.time).toBe(history[2]!.time)
})

it('an order is ALLOCATING while its supplier is slow to answer, and a separate event reports this', async () => {
  let answer = (_: Outcome[]) => {}
  const { tenantId, orderId, deps, claim } = await claimed({
    order: () => new Promise((resolve) => (answer = resolve)),
  })
  const running = runClaim(deps, claim, shop.clock.monotonic())
  await waitUntil(async () => (await eventsOf(shop.db, tenantId)).length === 1)
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'ALLOCATING', itemStatus: 'ASKED', ...TERMS }])
  answer([deliver()])
  await running
  const events = await eventsOf(shop.db, tenantId)
  expect(events.map(({ content }) => [content.orderStatus, content.sequence])).toEqual([
    ['ALLOCATING', 2],
    ['DELIVERED', 3],
  ])
  expect((await historyOf(tenantId, orderId)).map(({ orderStatus }) => orderStatus)).toEqual([
    'PAID',
    'ALLOCATING',
    'DELIVERED',
  ])
})

it('an ALLOCATING order does not become PAID again when its supplier lacks money', async () => {
  await addPackage(shop.db, 'TWO', [
    { supplier: 'odd', productCode: 'X' },
    { supplier: 'other', productCode: 'X' },
  ])
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'TWO')
  let answer = (_: Outcome[]) => {}
  const { deps } = createScriptedSupplier(shop, { order: () => new Promise((resolve) => (answer = resolve)) })
  const claim = await claimDueOrders(deps, tenantId, 10)
  const running = runClaim(deps, claim, shop.clock.monotonic())
  await waitUntil(async () => (await eventsOf(shop.db, tenantId)).length === 1)
  answer([{ kind: 'retry', message: 'no money', noMoney: true }])
  await running
  expect(await rows(tenantId)).toMatchObject([{ orderStatus: 'ALLOCATING', ...WAITING }])
  expect((await eventsOf(shop.db, tenantId)).map(({ content }) => content.orderStatus)).toEqual(['ALLOCATING'])
})

it('an order that is being sent to a supplier cannot be cancelled, although it is still PAID', async () => {
  const { tenantId, orderId, deps, claim } = await claimed()
  const cancelling = cancelOrder(deps, { tenantId, orderId, reason: 'by mistake' }, { actor: 'cli:ada' })
  await expect(cancelling).rejects.toMatchObject({ code: 'ORDER_IN_WORK' })
  await runClaim(deps, claim, shop.clock.monotonic())
  expect(await rows(tenantId)).toMatchObject([{ orderStatus: 'DELIVERED' }])
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
})

describe('an order whose supplier lacks money', () => {
  const BY = { actor: 'cli:ada' } as const
  const ORDERED = { kind: 'retry', message: 'no money', noMoney: true } as const

  it('can be refunded by an operator without waiting for the money, and becomes FAILED', async () => {
    const { tenantId, orderId, deps, claim } = await claimed({ order: async () => [ORDERED] })
    await runClaim(deps, claim, shop.clock.monotonic())
    expect(await rows(tenantId)).toMatchObject([{ orderStatus: 'ALLOCATING', itemStatus: 'WAITING' }])
    expect(await cancelOrder(deps, { tenantId, orderId, reason: 'no money there' }, BY)).toBe('FAILED')
    expect(await rows(tenantId)).toMatchObject([{ orderStatus: 'FAILED', itemStatus: 'REFUSED' }])
    expect((await eventsOf(shop.db, tenantId)).at(-1)!.content).toMatchObject({ orderStatus: 'FAILED' })
    await expect(cancelOrder(deps, { tenantId, orderId, reason: 'once more' }, BY)).rejects.toMatchObject({
      status: 409,
    })
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
    await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
    expect((await claimDueOrders(deps, tenantId, 10)).attempts).toEqual([])
  })

  it('keeps delivered eSIMs, and is not refunded while an eSIM is in doubt', async () => {
    const answers: Outcome[] = [deliver(), ORDERED, { kind: 'unknown', message: 'no answer' }]
    const { tenantId, orderId, deps, claim } = await claimed({ order: async () => [answers.shift()!] }, {}, 3)
    await runClaim(deps, claim, shop.clock.monotonic())
    const cancel = () => cancelOrder(deps, { tenantId, orderId, reason: 'no money there' }, BY)
    await expect(cancel()).rejects.toMatchObject({ code: 'ORDER_IN_WORK' })
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
    await shop.db.query({
      text: `update order_items set item_status = 'REFUSED' where tenant_id = $1 and item_status = 'UNKNOWN'`,
      values: [tenantId],
    })
    expect(await cancel()).toBe('PARTIALLY_DELIVERED')
    const statuses = (await rows(tenantId)).map((row) => (row as { itemStatus: string }).itemStatus)
    expect(statuses.sort()).toEqual(['DELIVERED', 'REFUSED', 'REFUSED'])
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
  })
})

it('a worker that takes over an order queries it and does not buy again', async () => {
  const { tenantId, deps } = await claimed()
  await expireLease(tenantId)
  const claim = await claimDueOrders(deps, tenantId, 10)
  expect(claim.attempts).toMatchObject([{ operation: 'QUERY', productCode: 'X' }])
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'ALLOCATING', itemStatus: 'UNKNOWN', ...TERMS, attempts: 2 }])
})

it('an item stays ASKED if its order is taken over while its supplier is paused', async () => {
  const { tenantId, deps, supplied } = await claimed()
  await expireLease(tenantId)
  Object.assign(supplied, { paused: true })
  expect((await claimDueOrders(deps, tenantId, 10)).attempts).toEqual([])
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'ALLOCATING', itemStatus: 'ASKED', ...TERMS }])
  Object.assign(supplied, { paused: false })
  await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
  expect((await claimDueOrders(deps, tenantId, 10)).attempts).toMatchObject([{ operation: 'QUERY' }])
})

it('an eSIM that arrives by another route during an attempt is delivered on the attempt’s terms', async () => {
  const { tenantId, orderId, deps, claim } = await claimed({
    order: async () => [{ kind: 'unknown', message: 'late' }],
  })
  await acceptEsim(deps, tenantId, { orderId, itemNo: 1, supplier: 'odd' }, newEsim())
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'DELIVERED', itemStatus: 'DELIVERED', ...TERMS }])
  await runClaim(deps, claim, shop.clock.monotonic())
  expect(await rows(tenantId)).toEqual([{ orderStatus: 'DELIVERED', itemStatus: 'DELIVERED', ...TERMS }])
})

it('an eSIM that a supplier lists while it is being bought belongs to the item', async () => {
  const listed = { key: '', iccid: newEsim().iccid, cancelled: false, time: new Date() }
  const { deps, supplied, orderId } = await claimed({
    async *list() {
      yield listed
    },
  })
  listed.key = itemKeyOf(orderId, 1)
  expect(await compareSupplierList(deps, supplied, 86_400_000)).toBe(0)
  expect(await shop.db.query({ text: 'select from unclaimed_esims where iccid = $1', values: [listed.iccid] })).toEqual(
    [],
  )
})

it('an item whose outcome cannot be saved stays ASKED after its order is released', async () => {
  const unsaved = { ...newEsim(), iccid: '8985\u0000' }
  const { tenantId, deps, claim } = await claimed(
    {
      order: async (requests) =>
        requests.map(({ itemNo }) => (itemNo === 1 ? { kind: 'delivered', esim: unsaved } : deliver())),
    },
    { batch: 10 },
    2,
  )
  await shop.db.query({
    text: `create or replace function refuse_unknown() returns trigger language plpgsql as
           $$ begin if new.item_status = 'UNKNOWN' then raise 'refused by the test'; end if; return new; end $$`,
  })
  await shop.db.query({
    text: 'create trigger refusing before update on order_items for each row execute function refuse_unknown()',
  })
  try {
    await runClaim(deps, claim, shop.clock.monotonic())
  } finally {
    await shop.db.query({ text: 'drop trigger refusing on order_items' })
  }
  expect(await rows(tenantId)).toMatchObject([{ itemStatus: 'ASKED' }, { itemStatus: 'DELIVERED' }])
  const [order] = await shop.db.query({
    text: 'select lease_token, due_at is not null as is_due from orders where tenant_id = $1',
    values: [tenantId],
  })
  expect(order).toEqual({ leaseToken: null, isDue: true })
})
