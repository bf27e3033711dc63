import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { findDocuments } from '#catalogue/packages/read-packages.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { setAlertBelow } from '#suppliers/balance/balance-state.ts'
import { followMoney, lockLackOfMoney, recordMoney } from '#suppliers/balance/lack-of-money.ts'
import { claimBalance, readBalance } from '#suppliers/balance/read-balance.ts'
import { OPERATOR } from '#test/harness/api-node.ts'
import { deliver } from '#test/harness/scripted-supplier.ts'
import { addPackage, addTenant, payOrders, statuses, waitUntil, walletOf } from '#test/harness/shop.ts'
import { firstProduct } from '#test/wholesalers/simulator-fixtures.ts'
import { type BalanceTestbed, createBalanceTestbed } from './balance-testbed.ts'

/* If the operator's account at a supplier is out of funds, the supplier is skipped until the account has funds again. */

let testbed: BalanceTestbed
let cheap: Simulator
let other: Simulator
let loop: Loop | undefined

beforeAll(async () => {
  testbed = await createBalanceTestbed()
  cheap = await testbed.addWholesaler('cheap')
  other = await testbed.addWholesaler('other', 'zendit')
  const route = async (supplier: string) => ({
    supplier,
    productCode: await firstProduct(testbed.suppliers.get(supplier)!.supplier),
  })
  await addPackage(testbed.db, 'BOTH', [await route('cheap'), await route('other')], true)
  await addPackage(testbed.db, 'ONE', [await route('cheap')], true)
  await addPackage(testbed.db, 'OFF', [await route('cheap')], true)
  await testbed.db.query({
    text: `insert into list_prices (package_code, currency_code, price, removed, updated_at)
           select package_code, 'USD', 10000, false, now() from packages`,
  })
  await setOnSale(testbed, { packageCodes: ['OFF'] }, false, OPERATOR)
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(() => testbed.close())

const buy = async (packageCode: string, orders: number) => {
  const tenantId = await addTenant(testbed.db)
  await payOrders(testbed.db, tenantId, packageCode, { orders })
  testbed.wake.wake('fulfilment')
  const ended = (status: string) => waitUntil(async () => (await statuses(testbed.db, tenantId))[status] === orders)
  return { tenantId, ended }
}
const taken = () => ({ cheap: cheap.counters().taken, other: other.counters().taken })
const orderRequests = () => cheap.counters().requestsByOperation.order ?? 0

it('orders go to the next supplier, and return to the first once its balance has risen', async () => {
  loop = fulfilmentLoop(testbed)
  cheap.setBalance(0)
  const first = await buy('BOTH', 5)
  await first.ended('DELIVERED')
  expect(taken()).toEqual({ cheap: 0, other: 5 })
  expect(testbed.suppliers.get('cheap')!.gate.lacksMoney).toBe(true)
  await waitUntil(async () => (await testbed.alerts('SUPPLIER_NO_MONEY')).length === 1)
  const refused = orderRequests()
  const second = await buy('BOTH', 5)
  await second.ended('DELIVERED')
  expect([orderRequests(), taken()]).toEqual([refused, { cheap: 0, other: 10 }])
  expect(await testbed.alerts('SUPPLIER_NO_MONEY')).toEqual([
    expect.stringMatching(/^cheap refuses purchases for lack of money: .* Top up your account at cheap/),
  ])
  for (const { tenantId } of [first, second]) expect((await walletOf(testbed.db, tenantId)).refunds).toBe(0)

  await testbed.read('cheap')
  await testbed.suppliers.refresh()
  expect(testbed.suppliers.get('cheap')!.gate.lacksMoney).toBe(true)
  cheap.setBalance(100_000_000)
  await testbed.read('cheap')
  await testbed.suppliers.refresh()
  const third = await buy('BOTH', 5)
  await third.ended('DELIVERED')
  expect(taken()).toEqual({ cheap: 5, other: 10 })
})

it('an order with no other supplier waits, without refund or review, and is delivered once there is money', async () => {
  loop = fulfilmentLoop(testbed)
  cheap.setBalance(0)
  const before = taken()
  const waiting = await buy('ONE', 1)
  const message = await waitUntil(async () => {
    const [item] = await testbed.db.query<{ failureReason: string | null }>({
      text: `select failure_reason from order_items where tenant_id = $1 and item_status = 'WAITING' and attempts > 0`,
      values: [waiting.tenantId],
    })
    return item?.failureReason ?? undefined
  })
  expect(message).toContain('200007')
  await waitUntil(async () => (await testbed.alerts('SUPPLIER_NO_MONEY')).length === 2)
  // Long after the deadline for giving up.
  await testbed.db.query({
    text: `update order_items set requested_at = now() - interval '2 days' where tenant_id = $1`,
    values: [waiting.tenantId],
  })
  await makeDue(waiting.tenantId)
  await untilPostponed(waiting.tenantId)
  expect(await statuses(testbed.db, waiting.tenantId)).not.toHaveProperty('UNDER_REVIEW')
  expect((await walletOf(testbed.db, waiting.tenantId)).refunds).toBe(0)
  await testbed.read('cheap')
  cheap.setBalance(100_000_000)
  await testbed.read('cheap')
  await testbed.suppliers.refresh()
  await waiting.ended('DELIVERED')
  expect(taken()).toEqual({ ...before, cheap: before.cheap + 1 })
})

it('only one of the orders waiting for funds is due for the next trial, and all are delivered in the end', async () => {
  loop = fulfilmentLoop(testbed)
  cheap.setBalance(0)
  await (await buy('BOTH', 1)).ended('DELIVERED')
  expect(await waitUntil(isSkipped)).toBe(true)
  const refused = orderRequests()
  const waiting = await Promise.all([buy('ONE', 15), buy('ONE', 15)])
  for (const { tenantId } of waiting) await untilPostponed(tenantId)
  const rows = await testbed.db.query<{ waitS: number; attempts: number }>({
    text: `select extract(epoch from due_at - now())::float8 as wait_s,
             (select count(*)::int from supplier_attempts a where (a.tenant_id, a.order_id) = (o.tenant_id, o.order_id))
               as attempts
           from orders o where due_at is not null order by due_at`,
  })
  expect(rows).toHaveLength(30)
  const [first, ...others] = rows
  expect(first!.waitS).toBeLessThanOrEqual(30)
  for (const { waitS } of others) expect(waitS).toBeGreaterThan(30)
  expect([orderRequests(), rows.some(({ attempts }) => attempts > 0)]).toEqual([refused, false])

  // Another node has noticed the money. This one has not yet.
  await testbed.read('cheap')
  cheap.setBalance(cheap.counters().balance + 100_000_000)
  await testbed.read('cheap')
  await Promise.all(waiting.map(({ ended }) => ended('DELIVERED')))
})

it('an order becomes due if a claim postpones it while funds are being recorded', async () => {
  cheap.setBalance(0)
  const supplied = testbed.suppliers.get('cheap')!
  await recordMoney(testbed, supplied, [{ kind: 'retry', message: 'empty', noMoney: true }])
  await testbed.suppliers.refresh()
  const { tenantId } = await buy('ONE', 1)
  let recording: Promise<void> | undefined
  await testbed.db.tx(async (tx) => {
    expect(await lockLackOfMoney(tx, ['cheap', 'other'])).toEqual(new Set(['cheap']))
    recording = recordMoney(testbed, supplied, [deliver()])
    await waitUntil(async () => {
      const rows = await testbed.db.query({ text: `select from pg_stat_activity where wait_event_type = 'Lock'` })
      return rows.length > 0
    })
    const text = `update orders set due_at = now() + interval '1 minute' where tenant_id = $1`
    await tx.query({ text, values: [tenantId] })
  })
  await recording
  const due = { text: 'select from orders where tenant_id = $1 and due_at <= now()', values: [tenantId] }
  expect(await testbed.db.query(due)).toHaveLength(1)
  expect(await testbed.db.tx((tx) => lockLackOfMoney(tx, ['cheap', 'other']))).toEqual(new Set())
  loop = fulfilmentLoop(testbed)
  await giveMoney()
  await waitUntil(async () => (await statuses(testbed.db, tenantId)).DELIVERED === 1)
})

describe('a balance reading after a refusal', () => {
  /** Refuses purchases, as if the account had been topped up to `amount` before its balance could be read. */
  const refuse = async (amount: number) => {
    cheap.setBalance(amount)
    await recordMoney(testbed, testbed.suppliers.get('cheap')!, [{ kind: 'retry', message: 'empty', noMoney: true }])
  }
  const isSkippedAfterReading = async () => {
    await testbed.read('cheap')
    return isSkipped()
  }
  const setCost = (cost: number | null) =>
    testbed.db.query({
      text: `update package_suppliers set cost_price = $1, cost_currency = case when $1::bigint is null then null else 'USD' end
             where supplier = 'cheap'`,
      values: [cost],
    })
  beforeAll(async () => {
    cheap.setBalance(90_000_000)
    await testbed.read('cheap')
    expect(await isSkipped()).toBe(false)
  })
  afterAll(() => setCost(null))

  it('counts as new money even if it is lower than before, provided that it covers every package', async () => {
    await setCost(50_000)
    await refuse(49_999)
    expect(await isSkippedAfterReading()).toBe(true)
    cheap.setBalance(90_000_000)
    expect(await isSkippedAfterReading()).toBe(false)
    await refuse(50_000)
    expect(await isSkippedAfterReading()).toBe(false)
    await refuse(50_000)
    expect([await isSkippedAfterReading(), await isSkippedAfterReading()]).toEqual([true, true])
    cheap.setBalance(50_001)
    expect(await isSkippedAfterReading()).toBe(false)
    await refuse(60_000)
    expect(await isSkippedAfterReading()).toBe(false)
  })

  it('is compared with the operator’s alert level if no cost is known, and is inconclusive without a level', async () => {
    await setCost(null)
    await refuse(59_000)
    expect(await isSkippedAfterReading()).toBe(true)
    await setAlertBelow(testbed, 'cheap', 59_001n, OPERATOR)
    expect(await isSkippedAfterReading()).toBe(true)
    await setAlertBelow(testbed, 'cheap', 59_000n, OPERATOR)
    expect(await isSkippedAfterReading()).toBe(false)
    await setAlertBelow(testbed, 'cheap', null, OPERATOR)
  })

  it('that began before the refusal proves nothing', async () => {
    const claim = (await claimBalance(testbed.db, ['cheap'], true))!
    await refuse(95_000_000)
    await readBalance(testbed, claim, testbed.suppliers.get('cheap')!.supplier)
    expect(await isSkipped()).toBe(true)
  })
})

it('a successful purchase ends the lack of money on all nodes, without reading the balance', async () => {
  loop = fulfilmentLoop(testbed)
  cheap.setBalance(0)
  const supplied = testbed.suppliers.get('cheap')!
  await (await buy('BOTH', 1)).ended('DELIVERED')
  expect(await waitUntil(async () => (await isSkipped()) && supplied.gate.lacksMoney)).toBe(true)
  await recordMoney(testbed, supplied, [{ kind: 'refused', message: 'out of stock' }])
  expect(await isSkipped()).toBe(true)
  await recordMoney(testbed, supplied, [deliver()])
  expect([await isSkipped(), supplied.gate.lacksMoney]).toEqual([false, false])
})

it('a package that no other supplier can sell is off sale on every node until there is money again', async () => {
  loop = fulfilmentLoop(testbed)
  await giveMoney()
  const before = await onSale()
  expect(before).toEqual({ ONE: 'ON_SALE', BOTH: 'ON_SALE', OFF: '310244' })
  const { asOf } = await changedSince()
  cheap.setBalance(0)
  const waiting = await buy('ONE', 1)
  await waitUntil(async () => (await onSale()).ONE === '310244')
  expect(await onSale()).toEqual({ ONE: '310244', BOTH: 'ON_SALE', OFF: '310244' })
  expect((await changedSince(asOf)).packageList).toMatchObject([{ packageCode: 'ONE', status: 'OFF_SALE' }])
  expect(await statusOf('ONE')).toBe('ON_SALE')
  expect((await testbed.alerts('SUPPLIER_NO_MONEY')).at(-1)).toMatch(
    /Off sale, because your account at each of their suppliers is out of funds: ONE\./,
  )
  expect(await statuses(testbed.db, waiting.tenantId)).not.toHaveProperty('FAILED')

  await giveMoney()
  expect(await onSale()).toEqual(before)
  expect((await changedSince(asOf)).packageList).toMatchObject([{ packageCode: 'ONE', status: 'ON_SALE' }])
  await waiting.ended('DELIVERED')
})

it('changing a package’s suppliers takes effect while one of them lacks money', async () => {
  loop = fulfilmentLoop(testbed)
  cheap.setBalance(0)
  await buy('ONE', 1)
  await waitUntil(async () => (await onSale()).ONE === '310244')
  const [route] = (await testbed.catalogue.latest()).find('BOTH')!.routes.filter(({ supplier }) => supplier === 'other')
  const suppliers = [route!].map(({ supplier, productCode }) => ({ supplier, productCode }))
  await putPackages(testbed, [{ packageCode: 'ONE', suppliers }], OPERATOR)
  expect(await followMoney(testbed.db)).toEqual(['ONE'])
  expect((await onSale()).ONE).toBe('ON_SALE')
  await setOnSale(testbed, { packageCodes: ['BOTH'] }, false, OPERATOR)
  await giveMoney()
  expect(await onSale()).toEqual({ ONE: 'ON_SALE', BOTH: '310244', OFF: '310244' })
  expect(await followMoney(testbed.db)).toEqual([])
})

/** Returns which packages a dealer can buy, as decided by every node. */
async function onSale() {
  const snapshot = await testbed.catalogue.latest()
  const buyer = { tenantId: '', currencyCode: 'USD' }
  const answers = ['ONE', 'BOTH', 'OFF'].map((code) => {
    const offer = snapshot.offer(buyer, code)
    return [code, typeof offer === 'string' ? offer : 'ON_SALE']
  })
  return Object.fromEntries(answers) as Record<string, string>
}

async function changedSince(updatedSince?: string) {
  const snapshot = await testbed.catalogue.latest()
  return listPackages(
    snapshot,
    { tenantId: '', currencyCode: 'USD' },
    updatedSince === undefined ? {} : { updatedSince },
  )
}

async function statusOf(packageCode: string): Promise<string | undefined> {
  return (await findDocuments(testbed.db, [packageCode])).get(packageCode)?.status
}

async function giveMoney(): Promise<void> {
  await testbed.read('cheap')
  cheap.setBalance(cheap.counters().balance + 100_000_000)
  await testbed.read('cheap')
  await testbed.suppliers.refresh()
}

/** Waits until a claim has postponed all of the tenant's orders. */
async function untilPostponed(tenantId: string): Promise<void> {
  await waitUntil(async () => {
    const rows = await testbed.db.query({
      text: `select from orders where tenant_id = $1 and not due_at > now() + interval '2 seconds'`,
      values: [tenantId],
    })
    return rows.length === 0
  })
}

async function makeDue(tenantId: string): Promise<void> {
  for (const text of [
    'update order_items set retry_at = now() where tenant_id = $1',
    'update orders set due_at = now() where tenant_id = $1',
  ]) {
    await testbed.db.query({ text, values: [tenantId] })
  }
  testbed.wake.wake('fulfilment')
}

async function isSkipped(): Promise<boolean> {
  const rows = await testbed.db.query({
    text: `select from supplier_balances where supplier = 'cheap' and no_money_since is not null`,
  })
  return rows.length === 1
}
