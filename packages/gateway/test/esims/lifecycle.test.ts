import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import type { ProfileReport, ReportOutcome, SuppliedEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expiryLoop } from '#esims/life/expire.ts'
import { pollSuppliersLoop } from '#esims/poll-suppliers.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier, newEsim } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop, waitUntil } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
/** A gateway with a supplier that reports status and usage. */
let deps: Shop
let loops: Loop[] = []
let tenantId: string
const asked: SuppliedEsim[] = []
const reports = new Map<string, ProfileReport>()

async function report(esims: SuppliedEsim[]): Promise<ReportOutcome[]> {
  asked.push(...esims)
  return esims.map(({ iccid }) => {
    const report = reports.get(iccid)
    return report ? { kind: 'reported', report } : { kind: 'silent' }
  })
}

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  deps = createScriptedSupplier(shop, { report }).deps
  await addPackage(shop.db, 'P', [{ supplier: 'odd', productCode: 'X' }])
  tenantId = await addTenant(shop.db)
})
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  await shop.close()
  await database.drop()
})

async function deliver(packageCode = 'P') {
  const esim = newEsim()
  const [orderId] = await payOrders(shop.db, tenantId, packageCode)
  await shop.db.query({
    text: `update order_items set product_code = 'X' where tenant_id = $1 and order_id = $2`,
    values: [tenantId, orderId],
  })
  await acceptEsim(deps, tenantId, { orderId: orderId!, itemNo: 1, supplier: 'odd' }, esim)
  return { orderId: orderId!, ...esim }
}

it('eSIMs are polled and expire, and each status change emits one event', async () => {
  const [unused, used, living, asleep] = [await deliver(), await deliver(), await deliver(), await deliver()]
  const set = (orderId: string, columns: string) =>
    shop.db.query({
      text: `update profiles set ${columns} where tenant_id = $1 and order_id = $2`,
      values: [tenantId, orderId],
    })
  const past = `now() - interval '1 hour'`
  await set(unused.orderId, `install_before = ${past}`)
  await set(used.orderId, `esim_status = 'IN_USE', expired_time = ${past}`)
  await set(living.orderId, `poll_at = ${past}`)
  const time = new Date()
  reports.set(living.iccid, { time, esimStatus: 'IN_USE', smdpStatus: 'ENABLED', usage: 123_456n, activateTime: time })
  const before = await eventCounts()
  loops = [expiryLoop(shop), pollSuppliersLoop(deps)]
  const rows = await waitUntil(async () => {
    const all = await shop.db.query<{
      orderId: string
      esimStatus: string
      smdpStatus: string
      orderUsage: bigint | null
    }>({
      text: 'select order_id, esim_status, smdp_status, order_usage from profiles where tenant_id = $1',
      values: [tenantId],
    })
    const byOrder = new Map(all.map((row) => [row.orderId, row]))
    const ended = [unused, used].every(({ orderId }) => byOrder.get(orderId)?.esimStatus.endsWith('EXPIRED'))
    return ended && byOrder.get(living.orderId)?.orderUsage != null && byOrder
  })
  expect(rows.get(unused.orderId)).toMatchObject({ esimStatus: 'UNUSED_EXPIRED' })
  expect(rows.get(used.orderId)).toMatchObject({ esimStatus: 'USED_EXPIRED' })
  expect(rows.get(living.orderId)).toMatchObject({
    esimStatus: 'IN_USE',
    smdpStatus: 'ENABLED',
    orderUsage: 123_456n,
  })
  expect(rows.get(asleep.orderId)).toMatchObject({ esimStatus: 'GOT_RESOURCE' })
  expect(asked.map((esim) => [esim.iccid, esim.matchingId])).toEqual([[living.iccid, living.matchingId]])
  const after = await eventCounts()
  const more = [unused, used, living, asleep].map(({ orderId }) => after.get(orderId)! - before.get(orderId)!)
  expect(more).toEqual([1, 1, 1, 0])
})

it('an eSIM whose validity starts at purchase has an expiry time from the start', async () => {
  await addPackage(shop.db, 'Q', [{ supplier: 'odd', productCode: 'X' }])
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
  expect(profile).toEqual({ esimStatus: 'GOT_RESOURCE', runs: true, ends: true, bounded: true })
})

async function eventCounts(): Promise<Map<string, number>> {
  const rows = await shop.db.query<{ orderId: string; events: number }>({
    text: `select order_id, count(*)::int as events from events
           where tenant_id = $1 and notify_type = 'DELIVERY_UPDATED' group by 1`,
    values: [tenantId],
  })
  return new Map(rows.map((row) => [row.orderId, row.events]))
}
