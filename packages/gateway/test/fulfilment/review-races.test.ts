import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import { gatewaySupplier } from '@dealer-esim/wholesalers/gateway/gateway.ts'
import type { Outcome, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { questionLoop } from '#fulfilment/reconciliation/ask-questions.ts'
import { refreshItem } from '#fulfilment/reconciliation/refresh-item.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { noteQuestions } from '#suppliers/supplier-questions.ts'
import { openShop } from '../harness/open-shop.ts'
import { createScriptedSupplier, deliver, newEsim } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, payOrders, type Shop, statuses, waitUntil, walletOf } from '../harness/shop.ts'

/* An operator, an upstream supplier and a worker change one order under review at the same time. */

let shop: Shop
let loop: Loop | undefined

beforeAll(async () => {
  shop = await openShop()
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X' }])
})
afterEach(async () => {
  await loop?.stop(1_000)
  loop = undefined
})
afterAll(() => shop.close())

const evidence = 'Ticket 4711, Ms Sato'
const ADA = { actor: 'cli:ada' } as const

/** An order under review whose items were ordered two hours ago. @param columns further columns of its items */
async function reviewed(count: number, columns = '') {
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'ODD', { count })
  await shop.db.query({
    text: `update order_items set item_status = 'REVIEW', supplier = 'odd', product_code = 'X', attempts = 1,
             requested_at = now() - interval '2 hours', retry_at = now() ${columns} where tenant_id = $1`,
    values: [tenantId],
  })
  await shop.db.query({
    text: `update orders set order_status = 'UNDER_REVIEW', due_at = now() where tenant_id = $1`,
    values: [tenantId],
  })
  return { tenantId, orderId: orderId! }
}

it('an item under review that is being queried is retried after a crash, even if another was resolved', async () => {
  const { tenantId, orderId } = await reviewed(2, `, in_doubt_at = now() - interval '2 hours'`)
  // Item 2 waits for an hour; a worker retries item 1 ...
  await shop.db.query({
    text: `update order_items set retry_at = now() + interval '1 hour' where tenant_id = $1 and item_no = 2`,
    values: [tenantId],
  })
  const { deps } = createScriptedSupplier(shop)
  const claim = await claimDueOrders(deps, tenantId, 10)
  expect(claim.attempts.map(({ itemNo, operation }) => [itemNo, operation])).toEqual([[1, 'QUERY']])
  // ... meanwhile an operator resolves item 2 ...
  await resolveOrder(deps, { tenantId, orderId, itemNos: [2], verdict: { kind: 'refused' }, evidence }, ADA)
  // ... and the worker dies here: its lease expires.
  await shop.db.query({
    text: `update orders set lease_until = now() - interval '1 second' where tenant_id = $1`,
    values: [tenantId],
  })
  loop = fulfilmentLoop(deps)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).PARTIALLY_DELIVERED === 1)
})

it.each([
  ['is paused', true],
  ['cannot be used', false],
])('an item whose worker died during a query can be resolved although its supplier %s', async (_, isKnown) => {
  const { tenantId, orderId } = await reviewed(1, `, in_doubt_at = now() - interval '2 hours'`)
  const { deps, supplied } = createScriptedSupplier(shop)
  expect((await claimDueOrders(deps, tenantId, 10)).attempts).toMatchObject([{ operation: 'QUERY' }])
  const resolve = () => resolveOrder(deps, { tenantId, orderId, verdict: { kind: 'retry' }, evidence }, ADA)
  await expect(resolve()).rejects.toMatchObject({ code: 'BEING_ASKED' })
  Object.assign(supplied, { paused: true })
  const claiming = isKnown ? deps : { ...deps, suppliers: { ...deps.suppliers, get: () => undefined } }
  await shop.db.query({
    text: `update orders set lease_until = now() - interval '1 second' where tenant_id = $1`,
    values: [tenantId],
  })
  expect((await claimDueOrders(claiming, tenantId, 10)).attempts).toEqual([])
  expect(await resolve()).toEqual([1])
  await shop.db.query({ text: 'update orders set due_at = null where tenant_id = $1', values: [tenantId] })
})

it('a cancellation at an upstream gateway does not affect another eSIM with the same key', async () => {
  const { tenantId, orderId } = await reviewed(1, `, in_doubt_at = now() - interval '2 hours'`)
  const { deps } = createScriptedSupplier(shop)
  // The upstream's support gives us an eSIM (X) for the order that is stuck there.
  const x = newEsim()
  const named = { row: 2, esim: { ...x, ac: `LPA:1$a.example$${x.matchingId}` } }
  await resolveOrder(deps, { tenantId, orderId, verdict: { kind: 'delivered', esims: [named] }, evidence }, ADA)
  // Later the upstream's own order is delivered after all (A). The upstream takes it back: an orphan for us. X is alive.
  const a = newEsim()
  const key = itemKeyOf(orderId, 1)
  const profile = {
    ...{ esimTranNo: shop.ids.uuid(), orderNo: 'O', transactionId: key, packageCode: 'X', packageName: 'X' },
    ...{ iccid: a.iccid, imsi: null, msisdn: null, eid: null, ac: `LPA:1$a.example$${a.matchingId}` },
    ...{ smdpAddress: 'a.example', matchingId: a.matchingId, confirmationCode: null, pin: null, puk: null },
    ...{
      qrCodeUrl: 'https://a.example/q',
      appleInstallUrl: 'https://a.example/a',
      androidInstallUrl: 'https://a.example/b',
    },
    ...{ apn: null, esimStatus: 'CANCEL', smdpStatus: 'RELEASED', totalVolume: null, orderUsage: null },
    ...{ usageUpdateTime: null, totalDuration: 7, durationUnit: 'DAY', installBefore: null, activateTime: null },
    ...{ expiredTime: null, createTime: new Date().toISOString(), lastUpdateTime: new Date().toISOString() },
  }
  const answer = { code: '000000', message: 'success', data: { profileList: [profile], nextCursor: null } }
  const outbound = {
    request: async () => ({
      kind: 'answer',
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(answer)),
    }),
  } as unknown as Outbound
  const config = { url: 'http://127.0.0.1:1', appKey: 'demo_app_key', appSecret: 'demo_app_secret' }
  const upstream = gatewaySupplier('odd', config, { outbound })
  const { deps: withUpstream } = createScriptedSupplier(shop, upstream)
  const [shown] = await shop.db.query<{ id: string; iccid: string }>({
    text: 'select profile_id as id, iccid from profiles where tenant_id = $1',
    values: [tenantId],
  })
  expect(shown!.iccid).toBe(x.iccid)
  const cancel = { tenantId, profileId: shown!.id, action: 'CANCEL', reason: 'ordered twice' } as const
  await actForOperator(withUpstream, cancel, ADA)
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
})

it('an item whose supplier asks for an immediate retry is tried at most twice a second', async () => {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'ODD')
  await shop.db.query({ text: 'update order_items set attempts = 32766 where tenant_id = $1', values: [tenantId] })
  let calls = 0
  const order = async (requests: SupplierRequest[]) => {
    calls += 1
    return requests.map(() =>
      calls < 4 ? ({ kind: 'retry', message: '101007: QPS', afterMs: 0 } as const) : deliver(),
    )
  }
  const started = performance.now()
  loop = fulfilmentLoop(createScriptedSupplier(shop, { order }).deps)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  expect(performance.now() - started).toBeGreaterThan(1_500)
})

it('during a purchase, an upstream event does not let the item be resolved as not bought', async () => {
  const { tenantId, orderId } = await reviewed(1)
  let answer: (outcomes: Outcome[]) => void = () => {}
  let orders = 0
  const order = () => {
    orders += 1
    return new Promise<Outcome[]>((resolve) => {
      answer = resolve
    })
  }
  const { deps, supplied } = createScriptedSupplier(shop, { order })
  loop = fulfilmentLoop(deps)
  await waitUntil(async () => orders === 1)
  const resolving = () => resolveOrder(deps, { tenantId, orderId, verdict: { kind: 'retry' }, evidence }, ADA)
  await expect(resolving()).rejects.toThrow('being asked about item 1')
  await refreshItem(deps, supplied, { tenantId, orderId, itemNo: 1 }) // the upstream's ORDER_PAID
  await expect(resolving()).rejects.toThrow('being asked about item 1')
  answer([deliver()])
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  expect(orders).toBe(1)
})

it('an item that cannot be refreshed does not block other items in the same upstream event', async () => {
  const { tenantId, orderId } = await reviewed(2, `, in_doubt_at = now() - interval '2 hours'`)
  await shop.db.query({
    text: `update order_items set retry_at = now() + interval '1 hour',
             item_status = case item_no when 1 then 'REFUSED' else 'REVIEW' end where tenant_id = $1`,
    values: [tenantId],
  })
  const query = async () => {
    throw new Error('the supplier does not answer')
  }
  const { deps } = createScriptedSupplier(shop, { query })
  const items = [1, 2].map((itemNo) => ({ orderId, itemNo }))
  expect(await noteQuestions(shop.db, 'odd', items, true)).toBe(2)
  const asking = questionLoop(deps)
  const due = () =>
    shop.db.query<{ itemNo: number }>({
      text: 'select item_no from order_items where tenant_id = $1 and retry_at <= now()',
      values: [tenantId],
    })
  await waitUntil(async () => (await due()).length > 0)
  await asking.stop(5_000)
  expect(await due()).toEqual([{ itemNo: 2 }])
})

it('a different eSIM cannot be recorded for an item that is being bought from review', async () => {
  const { tenantId, orderId } = await reviewed(1)
  let answer: (outcomes: Outcome[]) => void = () => {}
  let orders = 0
  const order = () => {
    orders += 1
    return new Promise<Outcome[]>((resolve) => {
      answer = resolve
    })
  }
  const { deps } = createScriptedSupplier(shop, { order })
  loop = fulfilmentLoop(deps)
  await waitUntil(async () => orders === 1)
  const x = newEsim()
  const named = { row: 2, esim: { ...x, ac: `LPA:1$a.example$${x.matchingId}` } }
  const resolving = resolveOrder(
    deps,
    { tenantId, orderId, verdict: { kind: 'delivered', esims: [named] }, evidence },
    ADA,
  )
  await expect(resolving).rejects.toThrow('being asked about item 1')
  answer([deliver()])
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
})
