import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Outcome, QueryPurpose, SupplierRecord, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { askAboutWatched } from '#fulfilment/reconciliation/ask-watched.ts'
import { cancelOrphans } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { openShop } from '../harness/open-shop.ts'
import { createScriptedSupplier, newEsim, withSuppliers } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, payOrders, type Shop, statuses, waitUntil, walletOf } from '../harness/shop.ts'

/* The first supplier denies an order, but delivers it after the second supplier was asked. */

let shop: Shop
let loop: Loop | undefined

beforeAll(async () => {
  shop = await openShop()
  const routes = [
    { supplier: 'first', productCode: 'F', cost: 1_000n },
    { supplier: 'second', productCode: 'S', cost: 2_000n },
  ]
  await addPackage(shop.db, 'LATE', routes)
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(() => shop.close())

/** A supplier that answers when the test lets it. */
function answerLater() {
  let answer: (outcome: Outcome) => void = () => {}
  const asked: SupplierRequest[] = []
  const order = (requests: SupplierRequest[]) => {
    asked.push(...requests)
    return new Promise<Outcome[]>((resolve) => {
      answer = (outcome) => resolve([outcome])
    })
  }
  return { order, asked, answer: (outcome: Outcome) => answer(outcome) }
}

/** An order that the first supplier has denied and the second is being asked for. */
async function atTheSecond() {
  const [first, second] = [answerLater(), answerLater()]
  const [firstEsim, secondEsim] = [newEsim(), newEsim()]
  const looks: { purpose: QueryPurpose; productCode: string }[] = []
  const listOf = (iccid: string) =>
    async function* (): AsyncGenerator<SupplierRecord> {
      yield { key: itemKeyOf(orderId!, 1), iccid, cancelled: false, time: new Date() }
    }
  const denies = {
    ...{ name: 'first', order: first.order, list: listOf(firstEsim.iccid) },
    query: async (): Promise<Outcome[]> => [{ kind: 'refused', message: 'never heard of it' }],
  }
  const silent = {
    ...{ name: 'second', order: second.order, list: listOf(secondEsim.iccid) },
    async query([request]: SupplierRequest[], purpose: QueryPurpose): Promise<Outcome[]> {
      looks.push({ purpose, productCode: request!.productCode })
      return [
        purpose === 'CHECK' ? { kind: 'delivered', esim: secondEsim } : { kind: 'unknown', message: 'cannot tell' },
      ]
    },
    cancel: async () => ({ kind: 'cancelled' }) as const,
  }
  const { supplied: firstSupplied } = createScriptedSupplier(shop, denies, { timeoutMs: 20 })
  const { supplied: secondSupplied } = createScriptedSupplier(shop, silent)
  const deps = withSuppliers(shop, firstSupplied, secondSupplied)
  const tenantId = await addTenant(shop.db)
  const [orderId] = await payOrders(shop.db, tenantId, 'LATE')
  loop = fulfilmentLoop(deps)
  // The first call counts as ended.
  const text = `update order_items set in_doubt_at = now() - interval '1 minute', retry_at = now()
                where tenant_id = $1 and item_status = 'UNKNOWN' returning 1`
  await waitUntil(async () => (await shop.db.query({ text, values: [tenantId] })).length === 1)
  await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
  await waitUntil(async () => second.asked.length === 1)
  const attemptAtSecond = (outcome: string) =>
    waitUntil(async () => {
      const ended = `select from supplier_attempts where tenant_id = $1 and supplier = 'second' and outcome = $2`
      return (await shop.db.query({ text: ended, values: [tenantId, outcome] })).length === 1
    })
  const deliverFirst = async () => {
    first.answer({ kind: 'delivered', esim: firstEsim })
    await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  }
  const rowsOf = (columns: string, table: string) =>
    shop.db.query({ text: `select ${columns} from ${table} where tenant_id = $1`, values: [tenantId] })
  const suppliers = { firstSupplied, secondSupplied, second, firstEsim, secondEsim, looks }
  return { tenantId, deps, ...suppliers, attemptAtSecond, deliverFirst, rowsOf }
}

it('an eSIM that the second supplier may have sold is queried, returned and reported', async () => {
  const { tenantId, deps, second, firstEsim, secondEsim, looks, ...its } = await atTheSecond()
  await its.deliverFirst()
  second.answer({ kind: 'unknown', message: 'lost' })
  await its.attemptAtSecond('unknown')
  await shop.db.query({ text: 'update watched_items set due_at = now() where tenant_id = $1', values: [tenantId] })
  await askAboutWatched(deps)
  await cancelOrphans(deps)
  expect(await its.rowsOf('supplier, iccid, state', 'orphans')).toEqual([
    { supplier: 'second', iccid: secondEsim.iccid, state: 'CANCELLED' },
  ])
  expect(looks).toEqual([{ purpose: 'CHECK', productCode: 'S' }])
  expect(await its.rowsOf('supplier, iccid', 'profiles')).toEqual([{ supplier: 'first', iccid: firstEsim.iccid }])
  expect(await its.rowsOf('purpose', 'watched_items')).toEqual([])
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(0)
})

it('the item belongs to the first supplier at its cost, and no eSIM is left unclaimed', async () => {
  const { deps, firstSupplied, secondSupplied, second, secondEsim, ...its } = await atTheSecond()
  await its.deliverFirst()
  second.answer({ kind: 'unknown', message: 'lost' })
  expect(await its.rowsOf('supplier, product_code, cost', 'order_items')).toEqual([
    { supplier: 'first', productCode: 'F', cost: 1_000n },
  ])
  for (const supplied of [firstSupplied, secondSupplied, secondSupplied])
    await compareSupplierList(deps, supplied, 60_000)
  expect(await its.rowsOf('supplier, iccid', 'orphans')).toEqual([{ supplier: 'second', iccid: secondEsim.iccid }])
  expect(await shop.db.query({ text: 'select key from unclaimed_esims' })).toEqual([])
})

it('a second supplier that certainly bought nothing is not queried again', async () => {
  const { second, looks, ...its } = await atTheSecond()
  second.answer({ kind: 'retry', message: 'our balance is used up', afterMs: 60_000 })
  await its.attemptAtSecond('retry')
  await its.deliverFirst()
  expect(await its.rowsOf('purpose', 'watched_items')).toEqual([])
  expect(looks).toEqual([])
})

it('the second supplier’s charge is not recorded for the first supplier', async () => {
  const { second, ...its } = await atTheSecond()
  second.answer({ kind: 'unknown', message: 'it has taken it', charged: { amount: 2_500n, currencyCode: 'USD' } })
  await its.attemptAtSecond('unknown')
  expect(await its.rowsOf('supplier, supplier_charge as charged', 'order_items')).toEqual([
    { supplier: 'second', charged: 2_500n },
  ])
  await its.deliverFirst()
  expect(await its.rowsOf('supplier, supplier_charge as charged', 'order_items')).toEqual([
    { supplier: 'first', charged: null },
  ])
})
