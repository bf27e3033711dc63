import { orderNoOf } from '@dealer-esim/contract'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { prepareRecovery } from '#operations/recovery/prepare-recovery.ts'
import { findOpenVerification, verifySupplier } from '#suppliers/verification/verify-supplier.ts'
import { setWebhook } from '#webhooks/endpoint/set-webhook.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { addActions } from '../harness/esim-actions.ts'
import { adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'
import { addPackage, addTenant, payOrders, statuses, waitUntil } from '../harness/shop.ts'

/* What was open at the backup, and what an operator may begin, while the gateway is in recovery. */

const BY = { actor: 'cli:test', address: 'local' } as const
let shop: AdminTestbed
let tenantId: string
let profileId: string

beforeAll(async () => {
  shop = await createAdminTestbed()
  await addPackage(shop.db, 'SOLD', [{ supplier: 'sandbox', productCode: 'X' }])
})
afterEach(async () => {
  await shop.db.query({ text: 'truncate restores, recovered_tenants' })
})
afterAll(() => shop.close())

async function restore(): Promise<void> {
  await shop.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at, paused_suppliers)
           values (gen_random_uuid(), now() - interval '1 hour', now(), '{}')`,
  })
}

/** A dealer with one delivered eSIM. */
async function addEsim(): Promise<void> {
  tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'SOLD')
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === 1)
  await loop.stop(5_000)
  const [profile] = await shop.db.query<{ profileId: string }>({
    text: 'select profile_id from profiles where tenant_id = $1',
    values: [tenantId],
  })
  profileId = profile!.profileId
}

const openActions = () =>
  shop.db.query<{ actionStatus: string; isDue: boolean; actionId: string }>({
    text: `select action_status, due_at is not null as is_due, action_id from esim_actions where tenant_id = $1`,
    values: [tenantId],
  })

test('an action that was open at the backup is held, shown, and ended by an operator only', async () => {
  await addEsim()
  await addActions(shop, tenantId, { action: 'CANCEL' })
  await restore()
  await prepareRecovery(shop)
  const [action] = await openActions()
  expect(action).toMatchObject({ actionStatus: 'UNDER_REVIEW', isDue: false })
  const actionNo = orderNoOf(action!.actionId)
  const { openActions: shown } = await adminJson('recovery', 'show')
  expect(shown).toMatchObject([{ tenantId, profileId, actionNo, action: 'CANCEL', supplier: 'sandbox' }])
  await adminJson('recovery', 'release', '--all', '--accept-doubt', 'for the test')
  expect(await openActions()).toMatchObject([{ actionStatus: 'UNDER_REVIEW', isDue: false }])
  await adminJson('esim', 'settle', profileId, '--kept', '--evidence', 'the supplier has not cancelled it')
  expect(await openActions()).toMatchObject([{ actionStatus: 'REFUSED' }])
  expect((await adminJson('recovery', 'show')).openActions).toEqual([])
})

test('an action goes on after a recovery in which nothing was sold', async () => {
  await addEsim()
  await addActions(shop, tenantId, { action: 'SUSPEND' })
  await restore()
  await prepareRecovery(shop)
  expect(await openActions()).toMatchObject([{ isDue: false }])
  await adminJson('recovery', 'release', '--nothing-sold', 'only moved')
  expect(await openActions()).toMatchObject([{ actionStatus: 'UNDER_REVIEW', isDue: true }])
})

test('an operator begins no action, sends nothing to a receiver, and continues no verification in recovery', async () => {
  await addEsim()
  await restore()
  const act = () => actForOperator(shop, { tenantId, profileId, action: 'CANCEL', reason: 'asked by phone' }, BY)
  await expect(act()).rejects.toMatchObject({ code: 'IN_RECOVERY' })
  expect(await openActions()).toEqual([])
  const outbound = createOutbound()
  const request = { callbackUrl: 'http://127.0.0.1:9/' }
  const config = { deployment: 'local' } as const
  await expect(setWebhook({ ...shop, outbound, config } as never, tenantId, request, BY)).rejects.toMatchObject({
    code: 'IN_RECOVERY',
  })
  await outbound.close()
  await shop.db.query({
    text: `insert into supplier_verifications (supplier, verification_id, order_id, product_code, cost, currency_code, state, started_at)
           values ('sandbox', gen_random_uuid(), gen_random_uuid(), 'X', 1, 'USD', 'OPEN', now())`,
  })
  const open = await findOpenVerification(shop.db, 'sandbox')
  const { supplier } = shop.suppliers.get('sandbox')!
  const called: string[] = []
  const watched = { ...supplier, query: () => Promise.reject(called.push('query')) }
  await expect(verifySupplier(shop, { supplier: watched }, open!, BY)).rejects.toThrow(/in recovery/)
  expect(called).toEqual([])
  expect(await adminFailure('esim', 'cancel', profileId, '--reason', 'asked by phone')).toMatch(/in recovery/)
})
