import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { CancelOutcome, Outcome, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { resolveAction } from '#esims/actions/resolve-action.ts'
import { expireProfiles } from '#esims/life/expire.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { makeActionsDue } from '../harness/esim-actions.ts'
import { openShop } from '../harness/open-shop.ts'
import { createScriptedSupplier, deliver } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, payOrders, type Shop, statuses, waitUntil, walletOf } from '../harness/shop.ts'

/* Orders that could not be bought in time, and cancellations without an answer. */

let shop: Shop
let loop: Loop | undefined

beforeAll(async () => {
  shop = await openShop()
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X' }])
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(() => shop.close())

/** Orders that their supplier has been postponing for two hours. */
async function putOff(orders: number): Promise<string> {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'ODD', { orders })
  await shop.db.query({
    text: `update order_items set supplier = 'odd', product_code = 'X', attempts = 1, requested_at = now() - interval '2 hours'
           where tenant_id = $1`,
    values: [tenantId],
  })
  await shop.db.query({
    text: `update orders set order_status = 'ALLOCATING' where tenant_id = $1`,
    values: [tenantId],
  })
  return tenantId
}

interface Seen {
  bought: number
  cancels: number
  deps: Shop
}

/** @param concurrency the supplier's limit of concurrent calls */
function start(answer: () => Outcome, concurrency: number, cancel: () => CancelOutcome = keep): Seen {
  const seen = { bought: 0, cancels: 0, deps: shop }
  const order = async (requests: SupplierRequest[]) => {
    seen.bought += requests.length
    return requests.map(answer)
  }
  const query = async () => {
    throw new Error('nothing is in doubt')
  }
  const counted = async () => {
    seen.cancels += 1
    return cancel()
  }
  seen.deps = createScriptedSupplier(shop, { order, query, cancel: counted }, { concurrency: concurrency }).deps
  loop = fulfilmentLoop(seen.deps)
  return seen
}

const ADA = { actor: 'cli:ada' } as const
const keep = (): CancelOutcome => ({ kind: 'refused', message: 'it does not' })

it('an order queued after an hours-long pause is delivered instead of going to review', async () => {
  const tenantId = await putOff(6)
  start(deliver, 2)
  expect(
    await waitUntil(async () => !(await statuses(shop.db, tenantId)).ALLOCATING && statuses(shop.db, tenantId)),
  ).toEqual({
    DELIVERED: 6,
  })
})

it('a repeatedly postponed order is reported as under review once, and then delivered', async () => {
  const tenantId = await putOff(1)
  let answer: () => Outcome = () => ({ kind: 'retry', message: 'our balance is used up' })
  const seen = start(() => answer(), 2)
  const text = 'update order_items set retry_at = now() where tenant_id = $1 and retry_at > now() returning 1'
  for (const times of [1, 2, 3]) {
    await waitUntil(async () => seen.bought === times)
    if (times === 3) answer = deliver
    await waitUntil(async () => (await statuses(shop.db, tenantId)).UNDER_REVIEW === 1)
    await waitUntil(async () => (await shop.db.query({ text, values: [tenantId] })).length === 1)
    await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
  }
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  const [row] = await shop.db.query<{ history: { orderStatus: string }[]; events: number }>({
    text: `select status_history as history, (select count(*)::int from events e where e.tenant_id = o.tenant_id) as events
           from orders o where tenant_id = $1`,
    values: [tenantId],
  })
  expect(row!.history.map(({ orderStatus }) => orderStatus)).toEqual(['PAID', 'UNDER_REVIEW', 'DELIVERED'])
  expect(row!.events).toBe(2)
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
})

/** An eSIM that was returned on its last day. The supplier cancelled it, but the answer was lost. */
async function returnedOnItsLastDay(answer: () => CancelOutcome) {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'ODD')
  const seen = start(deliver, 1, () => (seen.cancels === 1 ? { kind: 'unknown', message: 'lost' } : answer()))
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  const [profile] = await shop.db.query<{ profileId: string }>({
    text: `update profiles set install_before = now() where tenant_id = $1 returning profile_id`,
    values: [tenantId],
  })
  const { profileId } = profile!
  await actForOperator(seen.deps, { tenantId, profileId, action: 'CANCEL', reason: 'ordered twice' }, ADA)
  await expireProfiles(seen.deps, tenantId)
  await makeActionsDue(shop.db, tenantId)
  expect(await runDueActions(seen.deps)).toBe(1)
  return { tenantId, profileId, seen }
}

const statusOf = async (tenantId: string) =>
  (await shop.db.query({ text: 'select esim_status from profiles where tenant_id = $1', values: [tenantId] }))[0]

it('an unanswered cancellation is repeated and refunded after the eSIM has expired unused', async () => {
  const { tenantId, seen } = await returnedOnItsLastDay(() => ({ kind: 'cancelled' }))
  expect(seen.cancels).toBe(2)
  expect(await statusOf(tenantId)).toEqual({ esimStatus: 'CANCEL' })
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
})

it('an operator can resolve an unanswered cancellation after the eSIM has expired unused', async () => {
  const { tenantId, profileId, seen } = await returnedOnItsLastDay(() => ({ kind: 'unknown', message: 'lost again' }))
  expect(await statusOf(tenantId)).toEqual({ esimStatus: 'UNUSED_EXPIRED' })
  const said = { verdict: 'cancelled', evidence: 'Ticket 4711' } as const
  await resolveAction(seen.deps, { tenantId, profileId, ...said }, ADA)
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
})

it('an item under review that a dead worker may have bought is queried and never bought again', async () => {
  const tenantId = await putOff(1)
  await shop.db.query({
    text: `update order_items set item_status = 'ASKED', updated_at = now() - interval '2 hours' where tenant_id = $1`,
    values: [tenantId],
  })
  const asked: string[] = []
  const answer = (operation: string) => async (requests: SupplierRequest[]) => {
    asked.push(operation)
    return requests.map(deliver)
  }
  const { deps, supplied } = createScriptedSupplier(
    shop,
    { order: answer('ORDER'), query: answer('QUERY') },
    { concurrency: 1 },
  )
  expect(supplied.gate.acquire('somebody else', 1)).toBe(1)
  loop = fulfilmentLoop(deps)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).UNDER_REVIEW === 1)
  supplied.gate.release('somebody else', 1)
  await shop.db.query({ text: 'update order_items set retry_at = now() where tenant_id = $1', values: [tenantId] })
  await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  expect(asked).toEqual(['QUERY'])
})

it('an item that is being bought from review cannot be resolved as not bought', async () => {
  const tenantId = await putOff(1)
  await shop.db.query({
    text: `update order_items set item_status = 'REVIEW', retry_at = now() where tenant_id = $1`,
    values: [tenantId],
  })
  let answer: (outcomes: Outcome[]) => void = () => {}
  let orders = 0
  const order = () => {
    orders += 1
    return new Promise<Outcome[]>((resolve) => {
      answer = resolve
    })
  }
  const { deps } = createScriptedSupplier(shop, { order, query: async () => [{ kind: 'unknown', message: 'lost' }] })
  loop = fulfilmentLoop(deps)
  await waitUntil(async () => orders === 1)
  const [row] = await shop.db.query<{ orderId: string }>({
    text: 'select order_id from orders where tenant_id = $1',
    values: [tenantId],
  })
  const said = { verdict: { kind: 'retry' }, evidence: 'Ticket 4711' } as const
  const resolving = () => resolveOrder(deps, { tenantId, orderId: row!.orderId, ...said }, ADA)
  await expect(resolving()).rejects.toThrow('being asked about item 1')
  answer([{ kind: 'unknown', message: 'lost' }])
  const text = `select from order_items where tenant_id = $1 and item_status = 'REVIEW' and retry_at > now()`
  await waitUntil(async () => (await shop.db.query({ text, values: [tenantId] })).length === 1)
  expect(orders).toBe(1)
})
