import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Outcome, Supplier, SupplierRequest, SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listProfiles } from '#esims/list-profiles.ts'
import { getOrderWithProfiles } from '#esims/query-order.ts'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { type ItemVerdict, resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { pauseSupplier } from '#suppliers/manage-suppliers.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier, newEsim } from '../harness/scripted-supplier.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  eventsOf,
  PRICE,
  payOrders,
  type Shop,
  shortenWaits,
  statuses,
  type TestRoute,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
let loop: Loop | undefined

const PRODUCTS = ['JP_1_7', 'SANDBOX_REFUSED', 'SANDBOX_PARTIAL', 'SANDBOX_UNKNOWN', 'SANDBOX_SLOW']

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  for (const product of PRODUCTS) await addPackage(shop.db, product, [{ supplier: 'sandbox', productCode: product }])
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

async function finalStatuses(tenantId: string) {
  return waitUntil(
    async () => {
      const now = await statuses(shop.db, tenantId)
      if (!now.PAID && !now.ALLOCATING) return now
      await shortenWaits(shop, tenantId, 500)
    },
    60_000,
    100,
  )
}

it('a supplier message is saved, whatever its characters and length', async () => {
  const message = `sold out\u0000 ${'\u{1F30D}'.repeat(5_000)}\ud83c`
  const answer = async (requests: SupplierRequest[]): Promise<Outcome[]> =>
    requests.map(() => ({ kind: 'refused', message }))
  const tenantId = await deliverFrom('RUDE', 1, { order: answer, query: answer })
  expect(await finalStatuses(tenantId)).toEqual({ FAILED: 1 })
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
  const links = { publicUrl: '' }
  const [order] = await shop.db.query<{ id: string }>({
    text: 'select transaction_id as id from orders where tenant_id = $1',
    values: [tenantId],
  })
  const { packageInfoList } = await getOrderWithProfiles({ ...shop, links }, tenantId, { transactionId: order!.id })
  expect(packageInfoList[0]!.failureReason).toMatch(/^sold out {2}\u{1F30D}{40,500}…$/u)
})

it('an eSIM that cannot be saved goes to review without delaying the other eSIMs in its order', async () => {
  const esimOf = (itemNo: number) => (itemNo === 2 ? { ...newEsim(), iccid: '8985\u0000' } : newEsim())
  const answer = async (requests: SupplierRequest[]): Promise<Outcome[]> =>
    requests.map(({ itemNo }) => ({ kind: 'delivered', esim: esimOf(itemNo) }))
  const tenantId = await deliverFrom('ODD', 3, { order: answer, query: answer }, { giveUpAfterMs: 0 })
  expect(await finalStatuses(tenantId)).toEqual({ UNDER_REVIEW: 1 })
  const items = await shop.db.query({
    text: 'select item_status from order_items where tenant_id = $1 order by item_no',
    values: [tenantId],
  })
  expect(items).toEqual(['DELIVERED', 'REVIEW', 'DELIVERED'].map((itemStatus) => ({ itemStatus })))
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
})

/** Pays for an order of `count` eSIMs and has this supplier deliver it. */
async function deliverFrom(
  packageCode: string,
  count: number,
  script: Partial<Supplier>,
  traits: Partial<SupplierTraits> = {},
) {
  await addPackage(shop.db, packageCode, [{ supplier: 'odd', productCode: 'X' }])
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, packageCode, { count })
  loop = fulfilmentLoop(createScriptedSupplier(shop, script, { batch: 10, ...traits }).deps)
  return tenantId
}

/** Leases the tenant's order to another worker, after one has leased it. @returns the other worker's lease token */
async function takeOver(tenantId: string): Promise<string> {
  const leaseToken = shop.ids.uuid()
  await waitUntil(async () => {
    const taken = await shop.db.query({
      text: `update orders set lease_token = $2, lease_until = now() + interval '20 seconds'
             where tenant_id = $1 and lease_token is not null returning order_id`,
      values: [tenantId, leaseToken],
    })
    return taken.length === 1
  })
  return leaseToken
}

describe('an order that more than one supplier could deliver', () => {
  const bought = (tenantId: string) =>
    shop.db.query<{
      itemStatus: string
      supplier: string
      productCode: string
      cost: bigint | null
      asked: string[]
    }>({
      text: `select item_status, supplier, product_code, cost, (select array_agg(a.supplier order by a.attempt_id)
               from supplier_attempts a where a.tenant_id = i.tenant_id and a.item_no = i.item_no) as asked
             from order_items i where tenant_id = $1 order by item_no`,
      values: [tenantId],
    })

  beforeAll(async () => {
    for (const name of ['first', 'second', 'third']) await addSupplier(shop, name, 'sandbox')
  })

  async function deliverRoutes(packageCode: string, routes: TestRoute[], allowLoss = false) {
    await addPackage(shop.db, packageCode, routes, allowLoss)
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, packageCode)
    return tenantId
  }

  it('moves to the next affordable supplier after a definite refusal, at that supplier’s current cost', async () => {
    const tenantId = await deliverRoutes('FALLS_BACK', [
      { supplier: 'first', productCode: 'SANDBOX_REFUSED', cost: 1_000n },
      { supplier: 'second', productCode: 'ANY', cost: PRICE + 1n },
      { supplier: 'third', productCode: 'ANY', cost: 2_000n },
    ])
    const lossy = await deliverRoutes('LOSSY', [{ supplier: 'second', productCode: 'ANY', cost: PRICE + 1n }], true)
    const dear = await deliverRoutes('DEAR', [{ supplier: 'second', productCode: 'ANY', cost: PRICE + 1n }])
    loop = fulfilmentLoop(shop)
    expect([await finalStatuses(tenantId), await finalStatuses(lossy), await finalStatuses(dear)]).toEqual([
      { DELIVERED: 1 },
      { DELIVERED: 1 },
      { FAILED: 1 },
    ])
    expect(await bought(tenantId)).toMatchObject([{ supplier: 'third', cost: 2_000n, asked: ['first', 'third'] }])
    expect(await bought(lossy)).toMatchObject([{ supplier: 'second', cost: PRICE + 1n }])
    expect(await bought(dear)).toMatchObject([{ supplier: null, asked: null }])
    await shop.db.query({ text: `update package_suppliers set cost_price = 9999 where package_code = 'FALLS_BACK'` })
    expect(await bought(tenantId)).toMatchObject([{ cost: 2_000n }])
    expect((await walletOf(shop.db, dear)).refunds).toBe(1)
  })

  it('skips a nonexistent supplier, and is refunded if the package lists no other supplier', async () => {
    const second = await deliverRoutes('MISSING', [
      { supplier: 'missing', productCode: 'ANY' },
      { supplier: 'second', productCode: 'ANY' },
    ])
    const nowhere = await deliverRoutes('NOWHERE', [{ supplier: 'missing', productCode: 'ANY' }])
    loop = fulfilmentLoop(shop)
    expect([await finalStatuses(second), await finalStatuses(nowhere)]).toEqual([{ DELIVERED: 1 }, { FAILED: 1 }])
    expect(await bought(second)).toMatchObject([{ supplier: 'second', asked: ['second'] }])
    expect((await walletOf(shop.db, nowhere)).refunds).toBe(1)
  })

  it('waits for a supplier that this node has not loaded yet', async () => {
    const tenantId = await deliverRoutes('NEWS', [
      { supplier: 'news', productCode: 'ANY' },
      { supplier: 'second', productCode: 'ANY' },
    ])
    const get = (name: string) => (name === 'news' ? undefined : shop.suppliers.get(name))
    await addSupplier(shop, 'news', 'sandbox')
    const deaf = { ...shop, suppliers: { ...shop.suppliers, get } }
    const { attempts, refusals } = await claimDueOrders(deaf, tenantId, 10)
    expect([attempts, refusals]).toEqual([[], []])
    await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ DELIVERED: 1 })
    expect(await bought(tenantId)).toMatchObject([{ supplier: 'news' }])
  })

  it('stays with a supplier that does not answer, and skips or awaits a paused one', async () => {
    const routes = (supplier: string, productCode: string) => [
      { supplier, productCode },
      { supplier: 'third', productCode: 'ANY' },
    ]
    const onlySecond = [{ supplier: 'second', productCode: 'ANY' }]
    const silent = await deliverRoutes('SILENT', routes('first', 'SANDBOX_UNKNOWN'))
    const by = { actor: 'cli:test' } as const
    await pauseSupplier({ ...shop, config: { deployment: 'local' } }, { name: 'second', paused: true }, by)
    await shop.suppliers.refresh()
    const skipping = await deliverRoutes('SKIPS', routes('second', 'ANY'))
    const waiting = await deliverRoutes('PAUSED', onlySecond)
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(silent)).toEqual({ UNDER_REVIEW: 1 })
    expect(new Set((await bought(silent))[0]!.asked)).toEqual(new Set(['first']))
    expect(await finalStatuses(skipping)).toEqual({ DELIVERED: 1 })
    expect(await bought(skipping)).toMatchObject([{ supplier: 'third', asked: ['third'] }])
    expect(await bought(waiting)).toMatchObject([{ itemStatus: 'WAITING', asked: null }])
    await pauseSupplier({ ...shop, config: { deployment: 'local' } }, { name: 'second', paused: false }, by)
    await shop.suppliers.refresh()
    await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [waiting] })
    expect(await finalStatuses(waiting)).toEqual({ DELIVERED: 1 })
    expect(await bought(waiting)).toMatchObject([{ supplier: 'second', asked: ['second'] }])
  })
})

describe('a sandbox order', () => {
  it('is delivered with matching profiles, statuses and events', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'JP_1_7', { count: 3 })
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ DELIVERED: 1 })

    const answer = await getOrderWithProfiles(shop, tenantId, { orderNo: orderNoOf(orderId!) })
    expect(answer.statusHistory.map((entry) => entry.orderStatus)).toEqual(['PAID', 'ALLOCATING', 'DELIVERED'])
    expect(answer.packageInfoList[0]).toMatchObject({
      count: 3,
      deliveredCount: 3,
      failedCount: 0,
      failureReason: null,
    })
    expect(answer.profileList).toHaveLength(3)
    expect(answer.profileList[0]).toMatchObject({ esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED', eid: null })
    expect(new Set(answer.profileList.map((profile) => profile.iccid)).size).toBe(3)
    const emitted = (await eventsOf(shop.db, tenantId)).map((event) => [
      event.content.orderStatus,
      event.content.sequence,
    ])
    expect(emitted).toEqual([['DELIVERED', 2]])
    const text = 'select from orders where tenant_id = $1 and (due_at is not null or lease_token is not null)'
    expect(await shop.db.query({ text, values: [tenantId] })).toEqual([])
    expect((await listProfiles(shop, tenantId, { orderNo: orderNoOf(orderId!) })).profileList).toHaveLength(3)
  })

  it('is refunded immediately and exactly once if it is refused', async () => {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'SANDBOX_REFUSED', { orders: 5, count: 2 })
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ FAILED: 5 })
    const wallet = await walletOf(shop.db, tenantId)
    expect(wallet).toMatchObject({ refunds: 10, refunded: 10n * PRICE, balance: wallet.sum })
    expect((await eventsOf(shop.db, tenantId)).at(-1)!.content).toMatchObject({
      orderStatus: 'FAILED',
      refundedAmount: 20_000,
    })
  })

  it('is delivered in part and refunded for the rest', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'SANDBOX_PARTIAL', { count: 5 })
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ PARTIALLY_DELIVERED: 1 })
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: 2, refunded: 2n * PRICE })
    const answer = await getOrderWithProfiles(shop, tenantId, { transactionId: `T-${orderId}` })
    expect(answer.packageInfoList[0]).toMatchObject({ deliveredCount: 3, failedCount: 2 })
    expect(answer.refundedAmount).toBe(Number(2n * PRICE))
  })

  it('goes to review without a refund if the outcome is unknown, and is bought once', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'SANDBOX_UNKNOWN', { count: 2 })
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ UNDER_REVIEW: 1 })
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
    const asked = await shop.db.query<{ requests: number }>({
      text: `select requests from sandbox_issued
             where supplier = 'sandbox' and product_code = 'SANDBOX_UNKNOWN' and key like $1`,
      values: [`${orderNoOf(orderId!)}-%`],
    })
    expect(asked).toEqual([{ requests: 1 }, { requests: 1 }])
  })

  it('emits an event for each refunded or delivered eSIM, even if its own status does not change', async () => {
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'SANDBOX_UNKNOWN', { count: 3 })
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ UNDER_REVIEW: 1 })
    const query = () => getOrderWithProfiles(shop, tenantId, { orderNo: orderNoOf(orderId!) })
    const setBack = () =>
      shop.db.query({ text: `update orders set updated_at = created_at where tenant_id = $1`, values: [tenantId] })
    const resolve = (itemNo: number, verdict: ItemVerdict) => {
      const resolution = { tenantId, orderId: orderId!, itemNos: [itemNo], verdict, evidence: 'their mail of today' }
      return resolveOrder(shop, resolution, { actor: 'cli:test' })
    }
    await setBack()
    const reviewed = await query()
    await resolve(1, { kind: 'refused' })
    const refunded = await query()
    expect(refunded).toMatchObject({ orderStatus: 'UNDER_REVIEW', refundedAmount: Number(PRICE) })
    expect(refunded.packageInfoList).toMatchObject([{ failedCount: 1, failureReason: 'refused by the supplier' }])
    expect(refunded.lastUpdateTime > reviewed.lastUpdateTime).toBe(true)
    await setBack()
    const [smdpAddress, matchingId] = ['a.example', 'M-1']
    const esim = { iccid: makeIccid('8985779', 1), smdpAddress, matchingId, ac: `LPA:1$${smdpAddress}$${matchingId}` }
    await resolve(2, { kind: 'delivered', esims: [{ row: 1, esim }] })
    const delivered = await query()
    expect(delivered).toMatchObject({ orderStatus: 'UNDER_REVIEW', packageInfoList: [{ deliveredCount: 1 }] })
    expect(delivered.lastUpdateTime > reviewed.lastUpdateTime).toBe(true)
  })

  it('stays with the worker that took it over if a late answer arrives', async () => {
    await addSupplier(shop, 'late', 'sandbox', { slowMs: 1_000 })
    await addPackage(shop.db, 'LATE', [{ supplier: 'late', productCode: 'SANDBOX_SLOW' }])
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'LATE')
    loop = fulfilmentLoop(shop)
    const heir = await takeOver(tenantId)
    const profile = async () =>
      (await shop.db.query({ text: 'select from profiles where tenant_id = $1', values: [tenantId] })).length === 1
    await waitUntil(profile) // the eSIM that was bought is not lost
    const [order] = await shop.db.query({
      text: 'select lease_token, lease_until > now() as is_held from orders where tenant_id = $1',
      values: [tenantId],
    })
    expect(order).toEqual({ leaseToken: heir, isHeld: true })
  })

  it('stays with the worker that took it over, without a refund, if a late refusal arrives', async () => {
    let answer = () => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const refuse = async (requests: SupplierRequest[]): Promise<Outcome[]> => {
      await answered
      return requests.map(() => ({ kind: 'refused', message: 'sold out' }))
    }
    const tenantId = await deliverFrom('LATE_REFUSAL', 1, { order: refuse, query: refuse })
    const heir = await takeOver(tenantId)
    answer()
    await loop!.stop(5_000)
    const [order] = await shop.db.query({
      text: 'select lease_token, order_status, refunded_amount from orders where tenant_id = $1',
      values: [tenantId],
    })
    expect(order).toMatchObject({ leaseToken: heir, refundedAmount: 0n })
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
  })

  it('is delivered exactly once, even if three thousand orders are due', async () => {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'JP_1_7', { orders: 3_000 })
    const started = performance.now()
    loop = fulfilmentLoop(shop)
    expect(await finalStatuses(tenantId)).toEqual({ DELIVERED: 3_000 })
    console.log(`${Math.round(3_000_000 / (performance.now() - started))} eSIMs/s`)
    const [count] = await shop.db.query<{ profiles: number; attempts: number }>({
      text: `select (select count(*)::int from profiles where tenant_id = $1) as profiles,
                    (select count(*)::int from supplier_attempts where tenant_id = $1) as attempts`,
      values: [tenantId],
    })
    expect(count).toEqual({ profiles: 3_000, attempts: 3_000 })
  })
})
