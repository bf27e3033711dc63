import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { admin } from '../harness/processes/admin-process.ts'
import { type Es2plusServer, startEs2plusServer } from '../harness/servers/es2plus-server.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  payOrders,
  type Shop,
  TEST_KEY,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'
import { CANCEL_POINTS } from './crash-scenes.ts'

/* An operator’s command is killed while it cancels an eSIM, and a worker finishes the cancellation. */

let database: TestDatabase
let shop: Shop
let server: Es2plusServer
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-cancels-'))
const cancelled = new Map<string, { tenantId: string; iccid: string }>()
const SUPPLIERS = ['sandbox', 'smdp'] as const
const SCENES = CANCEL_POINTS.flatMap((point) => {
  const owner = point.split('.')[0]
  return SUPPLIERS.filter((supplier) => owner === 'action' || (owner === 'es2plus' && supplier === 'smdp')).map(
    (supplier) => [supplier, point] as const,
  )
})

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  server = await startEs2plusServer()
  const config = { url: server.url, functionRequesterIdentifier: '1.2.3', ...server.identity }
  await addSupplier(shop, 'smdp', 'es2plus', config)
  for (const supplier of SUPPLIERS) await addPackage(shop.db, supplier, [{ supplier, productCode: 'TYPE' }])
  const loop = fulfilmentLoop(shop)
  await Promise.all(SCENES.map(([supplier, point]) => killDuringCancel(supplier, point)))
  await loop.stop(5_000)
  // The dead processes' leases end.
  await shop.db.query({ text: `update esim_actions set lease_until = now() - interval '1 second'` })
  await runDueActions(shop)
})
afterAll(async () => {
  await server.close()
  await shop.close()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function killDuringCancel(supplier: string, point: string): Promise<void> {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, supplier)
  const profile = await waitUntil(async () => {
    const [row] = await shop.db.query<{ profileId: string; iccid: string }>({
      text: 'select profile_id, iccid from profiles where tenant_id = $1',
      values: [tenantId],
    })
    return row
  })
  const env = { DATABASE_URL: database.url, MASTER_KEY: TEST_KEY.toString('base64'), DATA_DIR: folder }
  const run = await admin(['esim', 'cancel', profile.profileId, '--reason', 'test'], { ...env, PAUSE_AT: point })
  expect(run).toMatchObject({ code: null, stderr: expect.stringContaining(`paused at ${point}`) })
  cancelled.set(`${supplier} ${point}`, { tenantId, iccid: profile.iccid })
}

it.each(SCENES)(
  '%s: a cancellation interrupted at %s is either done and refunded once, or pending and not refunded',
  async (supplier, point) => {
    const { tenantId, iccid } = cancelled.get(`${supplier} ${point}`)!
    const [profile] = await shop.db.query<{ esimStatus: string; isOpen: boolean }>({
      text: `select esim_status, exists (select from esim_actions a where a.tenant_id = p.tenant_id
             and a.action_status in ('PENDING', 'UNDER_REVIEW') and a.due_at is not null) as is_open
           from profiles p where tenant_id = $1`,
      values: [tenantId],
    })
    // The dealer has seen the eSIM, so if an SM-DP+ no longer knows it, it may have been used.
    const isPending = point === 'es2plus.after-cancel-order'
    expect(profile).toEqual({ esimStatus: isPending ? 'GOT_RESOURCE' : 'CANCEL', isOpen: isPending })
    expect(await walletOf(shop.db, tenantId)).toMatchObject({ refunds: isPending ? 0 : 1 })
    expect(server.soldIccids()).not.toContain(iccid)
  },
)
