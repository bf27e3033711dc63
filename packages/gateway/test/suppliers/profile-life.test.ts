import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { takeInEsim } from '../../src/fulfilment/take-in.ts'
import type { Loop } from '../../src/lib/lifecycle.ts'
import { askSuppliersLoop } from '../../src/profiles/ask-suppliers.ts'
import { profilesLoop } from '../../src/profiles/loop.ts'
import { gate } from '../../src/suppliers/gate.ts'
import type { Supplied } from '../../src/suppliers/registry.ts'
import type { ProfileReport, ReportOutcome, SuppliedEsim, Supplier } from '../../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from '../harness/database.ts'
import { addPackage, addTenant, openShop, payOrders, type Shop, until } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
let loops: Loop[] = []
let tenantId: string
const asked: SuppliedEsim[] = []
const reports = new Map<string, ProfileReport>()

/** Knows the status and the usage of what it sold. */
const telling: Supplier = {
  name: 'telling',
  type: 'gateway',
  traits: { batch: 1, concurrency: 1, perSecond: null, timeout_ms: 1_000, settles_ms: 0, giveUpAfter_ms: 1_000 },
  order: async () => [],
  query: async () => [],
  cancel: async () => ({ kind: 'refused', words: 'it does not' }),
  test: async () => undefined,
  async report(esims) {
    asked.push(...esims)
    return esims.map(({ iccid }): ReportOutcome => {
      const report = reports.get(iccid)
      return report ? { kind: 'told', report } : { kind: 'silent' }
    })
  },
}
let supplied: Supplied

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await openShop(database.url)
  supplied = { supplier: telling, gate: gate(telling.traits, shop.clock), paused: false }
  await addPackage(shop.db, 'P', [{ supplier: 'telling', productCode: 'X' }])
  tenantId = await addTenant(shop.db)
})
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  await shop.close()
  await database.drop()
})

let serial = 0
async function deliver(packageCode = 'P'): Promise<{ orderId: string; iccid: string }> {
  const iccid = makeIccid('8985444', ++serial)
  const [orderId] = await payOrders(shop.db, tenantId, packageCode)
  await shop.db.query({
    text: `update order_items set product_code = 'X' where tenant_id = $1 and order_id = $2`,
    values: [tenantId, orderId],
  })
  const suppliers = { ...shop.suppliers, get: () => supplied }
  const esim = { iccid, smdpAddress: 'a.example', matchingId: `M-${serial}`, smdpStatus: 'RELEASED' as const }
  const item = { orderId: orderId!, itemNo: 1, supplier: telling.name }
  await takeInEsim({ ...shop, suppliers }, tenantId, item, esim)
  return { orderId: orderId!, iccid }
}

it('eSIMs expire, status and usage are asked for, and each change of a status is told once', async () => {
  const [unused, used, living, asleep] = [await deliver(), await deliver(), await deliver(), await deliver()]
  const set = (orderId: string, columns: string) =>
    shop.db.query({
      text: `update profiles set ${columns} where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId],
    })
  const past = `now() - interval '1 hour'`
  await set(unused.orderId, `install_before = ${past}`)
  await set(used.orderId, `esim_status = 'IN_USE', expired_time = ${past}`)
  await set(living.orderId, `asked_at = ${past}`)
  const time = new Date()
  reports.set(living.iccid, { time, esimStatus: 'IN_USE', smdpStatus: 'ENABLED', usage: 123_456n, activateTime: time })
  const before = await eventCounts()
  const suppliers = { ...shop.suppliers, all: () => [supplied] }
  loops = [profilesLoop(shop), askSuppliersLoop({ ...shop, suppliers })]
  const rows = await until(async () => {
    const all = await shop.db.query<{
      order_id: string
      esim_status: string
      smdp_status: string
      order_usage: bigint | null
    }>({
      text: 'select order_id, esim_status, smdp_status, order_usage from profiles where tenant_id = $1',
      values: [tenantId],
    })
    const byOrder = new Map(all.map((row) => [row.order_id, row]))
    const ended = [unused, used].every(({ orderId }) => byOrder.get(orderId)?.esim_status.endsWith('EXPIRED'))
    return ended && byOrder.get(living.orderId)?.order_usage != null && byOrder
  })
  expect(rows.get(unused.orderId)).toMatchObject({ esim_status: 'UNUSED_EXPIRED' })
  expect(rows.get(used.orderId)).toMatchObject({ esim_status: 'USED_EXPIRED' })
  expect(rows.get(living.orderId)).toMatchObject({
    esim_status: 'IN_USE',
    smdp_status: 'ENABLED',
    order_usage: 123_456n,
  })
  expect(rows.get(asleep.orderId)).toMatchObject({ esim_status: 'GOT_RESOURCE' })
  expect(asked.map((esim) => [esim.iccid, esim.matchingId])).toEqual([[living.iccid, 'M-3']])
  const after = await eventCounts()
  const more = [unused, used, living, asleep].map(({ orderId }) => after.get(orderId)! - before.get(orderId)!)
  expect(more).toEqual([1, 1, 1, 0])
})

it('an eSIM whose time runs from its purchase tells from the start when it ends', async () => {
  await addPackage(shop.db, 'Q', [{ supplier: 'telling', productCode: 'X' }])
  await shop.db.query({
    text: `with named as (update packages set activation_policy = 'ON_PURCHASE' where package_code = 'Q' returning 1)
           update catalogue_version set version = version + 1 from named`,
  })
  const { orderId } = await deliver('Q')
  const [profile] = await shop.db.query({
    text: `select esim_status, activate_time = created_at as runs, expired_time - created_at = interval '7 days' as ends,
             install_before = expired_time as bounded from profiles where tenant_id = $1 and order_id = $2`,
    values: [tenantId, orderId],
  })
  expect(profile).toEqual({ esim_status: 'GOT_RESOURCE', runs: true, ends: true, bounded: true })
})

async function eventCounts(): Promise<Map<string, number>> {
  const rows = await shop.db.query<{ order_id: string; events: number }>({
    text: `select order_id, count(*)::int as events from events
           where tenant_id = $1 and notify_type = 'DELIVERY_UPDATED' group by 1`,
    values: [tenantId],
  })
  return new Map(rows.map((row) => [row.order_id, row.events]))
}
