import { type EsimAction, orderNoOf } from '@dealer-esim/contract'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { startAction } from '#esims/actions/start-action.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { CANCEL_POINTS, type CrashScene, gatewayScene } from '#test/fulfilment/crash-scenes.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { makeActionsDue } from '#test/harness/esim-actions.ts'
import { bundleForChildren, type ChildBundle, spawnFulfilment } from '#test/harness/processes/child-process.ts'
import { type Es2plusServer, startEs2plusServer } from '#test/harness/servers/es2plus-server.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  PRICE,
  payOrders,
  type Shop,
  statuses,
  waitUntil,
  walletOf,
} from '#test/harness/shop.ts'
import { firstProduct } from '#test/wholesalers/simulator-fixtures.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'

/*
 * A worker is killed at each failpoint while it cancels eSIMs for a dealer, and another one takes over: each action ends,
 * and an eSIM is refunded once, and only if its supplier has cancelled it.
 */

const ESIMS = 3
/** Workers start one after another, as in other tests at the same time. */
const ALL_KILLS_MS = 400_000
const SUPPLIERS = ['sandbox', 'smdp', 'esim-access', 'esim-go', 'zendit'] as const
/** Suppliers with their own failpoints. */
const OWN_POINTS = {
  sandbox: 'sandbox',
  es2plus: 'smdp',
  'esim-access': 'esim-access',
  'esim-go': 'esim-go',
  zendit: 'zendit',
} as const
const SCENES = SUPPLIERS.flatMap((supplier) =>
  [...CANCEL_POINTS, 'sandbox.acted' as const]
    .filter((point) => {
      const owner = OWN_POINTS[point.split('.')[0] as keyof typeof OWN_POINTS]
      return owner === undefined || owner === supplier
    })
    .map((point) => [supplier, point] as const),
)

let database: TestDatabase
let shop: Shop
let server: Es2plusServer
/** Wholesalers that support cancelling. */
const WHOLESALERS = ['esim-access', 'esim-go', 'zendit'] as const
let simulators: Record<(typeof WHOLESALERS)[number], Simulator>
let bundle: ChildBundle
const tenants = new Map<string, string>()
const failures = new Map<string, string>()

beforeAll(async () => {
  bundle = await bundleForChildren(new URL('../../harness/processes/fulfilment-node.ts', import.meta.url))
  database = await createTestDatabase()
  shop = await createShop(database.url)
  server = await startEs2plusServer()
  const config = { url: server.url, functionRequesterIdentifier: '1.2.3', ...server.identity, giveUpAfterMs: 4_000 }
  await addSupplier(shop, 'smdp', 'es2plus', config)
  simulators = {
    'esim-access': await createSimulator('esim-access', { catalogueSize: 3 }),
    'esim-go': await createSimulator('esim-go', { catalogueSize: 3 }),
    zendit: await createSimulator('zendit', { catalogueSize: 3 }),
  }
  for (const kind of WHOLESALERS) {
    const { url, credentials } = simulators[kind]
    await addSupplier(shop, kind, kind, { url, ...credentials, perSecond: 1_000 })
  }
  for (const supplier of SUPPLIERS) {
    const isSimulated = WHOLESALERS.some((kind) => kind === supplier)
    const productCode = isSimulated ? await firstProduct(shop.suppliers.get(supplier)!.supplier) : 'TYPE'
    await addPackage(shop.db, supplier, [{ supplier, productCode }])
  }
  for (const [supplier, point] of SCENES) await killWhileCancelling(supplier, point)
  await waitUntil(async () => {
    for (const tenantId of tenants.values()) await makeActionsDue(shop.db, tenantId)
    await runDueActions(shop)
    return (await shop.db.query({ text: `select from esim_actions where action_status = 'PENDING'` })).length === 0
  })
}, ALL_KILLS_MS)
afterAll(async () => {
  await server.close()
  for (const simulator of Object.values(simulators)) await simulator.close()
  await shop.close()
  await database.drop()
  bundle.remove()
})

/** Sets a cancel policy with a fee of ten percent on all of the tenant's orders. */
async function keepPolicy(at: Shop, tenantId: string): Promise<void> {
  const policy = { cancellable: true, withinDays: null, feePercent: 10 }
  await at.db.query({
    text: `update orders set package_lines = jsonb_set(package_lines, '{0,cancelPolicy}', $2) where tenant_id = $1`,
    values: [tenantId, JSON.stringify(policy)],
  })
}

async function killWhileCancelling(supplier: string, point: string): Promise<void> {
  const tenantId = await addTenant(shop.db)
  tenants.set(`${supplier} ${point}`, tenantId)
  await payOrders(shop.db, tenantId, supplier, { orders: ESIMS })
  const loop = fulfilmentLoop(shop)
  await waitUntil(async () => (await statuses(shop.db, tenantId)).DELIVERED === ESIMS)
  await loop.stop(5_000)
  await keepPolicy(shop, tenantId)
  const profiles = await shop.db.query<{ profileId: string }>({
    text: 'select profile_id from profiles where tenant_id = $1',
    values: [tenantId],
  })
  for (const { profileId } of profiles) {
    const request = { transactionId: `C-${profileId}`, action: 'CANCEL', esimTranNo: profileId } as const
    await startAction(shop, tenantId, request)
  }
  const killed = spawnFulfilment(bundle.path, database.url, point)
  let stderr = ''
  killed.stderr!.on('data', (text) => (stderr += text))
  const [code, signal] = (await killed.ended) as [number | null, string | null]
  if (signal !== 'SIGKILL' || !stderr.includes(`paused at ${point}`)) {
    failures.set(`${supplier} ${point}`, `it was not killed there: ${signal ?? code} ${stderr}`)
  }
  // The next worker gets its own actions, so these wait until all workers have died.
  await shop.db.query({
    text: `update esim_actions set due_at = now() + interval '1 hour' where tenant_id = $1 and due_at is not null`,
    values: [tenantId],
  })
}

const AFTER_CANCEL_ORDER: readonly string[] = CANCEL_POINTS.slice(CANCEL_POINTS.indexOf('es2plus.after-cancel-order'))

it.each(SCENES)(
  '%s: every action of a worker that dies at %s ends, with at most one refund',
  async (supplier, point) => {
    expect(failures.get(`${supplier} ${point}`)).toBeUndefined()
    const tenantId = tenants.get(`${supplier} ${point}`)!
    const actions = await shop.db.query<{ actionStatus: string; esimStatus: string; refunds: number }>({
      text: `select action_status, esim_status, (select count(*)::int from transfers t where t.tenant_id = a.tenant_id
             and t.order_id = a.order_id and t.item_no = a.item_no and kind = 'REFUND' and amount = $2) as refunds
           from esim_actions a join profiles p using (tenant_id, profile_id) where a.tenant_id = $1`,
      values: [tenantId, (PRICE * 90n) / 100n],
    })
    const done = { actionStatus: 'DONE', esimStatus: 'CANCEL', refunds: 1 }
    const reviewed = { actionStatus: 'UNDER_REVIEW', esimStatus: 'GOT_RESOURCE', refunds: 0 }
    // The dealer has seen the eSIM, so if an SM-DP+ no longer knows it, it may have been used. While one action is at the
    // failpoint, calls for the others are in progress.
    const mayBeReviewed = supplier === 'smdp' && AFTER_CANCEL_ORDER.includes(point)
    expect(actions).toHaveLength(ESIMS)
    for (const action of actions) expect(mayBeReviewed ? [done, reviewed] : [done]).toContainEqual(action)
    const refunds = actions.reduce((sum, action) => sum + action.refunds, 0)
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(refunds)
    const faults: string[] = []
    await verifyLedger(shop.db, { tenantId, onFault: ({ message }) => faults.push(message) })
    expect(faults).toEqual([])
  },
)

/** The state that allows each action, and the resulting state. */
const ACTIONS = {
  CANCEL: { before: `esim_status = 'GOT_RESOURCE'`, after: { esimStatus: 'CANCEL', suspended: false } },
  SUSPEND: {
    before: `esim_status = 'IN_USE', smdp_status = 'ENABLED'`,
    after: { esimStatus: 'IN_USE', suspended: true },
  },
  UNSUSPEND: {
    before: `esim_status = 'IN_USE', smdp_status = 'ENABLED', suspended = true`,
    after: { esimStatus: 'IN_USE', suspended: false },
  },
  REVOKE: { before: `esim_status = 'GOT_RESOURCE'`, after: { esimStatus: 'REVOKED', suspended: false } },
} as const satisfies Record<EsimAction, object>

const ACTION_POINTS = [...CANCEL_POINTS.filter((point) => point.startsWith('action.')), 'sandbox.acted'] as const

/** Kills a worker at the failpoint while it carries out one dealer's actions, then lets another worker take over. */
async function killAndTakeOver(at: Shop, url: string, tenantId: string, action: EsimAction, point: string) {
  const loop = fulfilmentLoop(at)
  await waitUntil(async () => (await statuses(at.db, tenantId)).DELIVERED === ESIMS)
  await loop.stop(5_000)
  await keepPolicy(at, tenantId)
  const profiles = await at.db.query<{ profileId: string }>({
    text: `update profiles set ${ACTIONS[action].before} where tenant_id = $1 returning profile_id`,
    values: [tenantId],
  })
  for (const { profileId } of profiles) {
    await startAction(at, tenantId, { transactionId: `A-${profileId}`, action, esimTranNo: profileId })
  }
  const killed = spawnFulfilment(bundle.path, url, point)
  let stderr = ''
  killed.stderr!.on('data', (text) => (stderr += text))
  expect(((await killed.ended) as unknown[])[1], stderr).toBe('SIGKILL')
  expect(stderr).toContain(`paused at ${point}`)
  await waitUntil(async () => {
    await makeActionsDue(at.db, tenantId)
    await runDueActions(at)
    const text = `select from esim_actions where tenant_id = $1 and action_status = 'PENDING'`
    return (await at.db.query({ text, values: [tenantId] })).length === 0
  })
  const actions = await at.db.query({
    text: `select action_status, esim_status, suspended from esim_actions a join profiles p using (tenant_id, profile_id)
           where a.tenant_id = $1`,
    values: [tenantId],
  })
  expect(actions).toEqual(Array.from({ length: ESIMS }, () => ({ actionStatus: 'DONE', ...ACTIONS[action].after })))
  const { refunds, balance, sum } = await walletOf(at.db, tenantId)
  expect({ refunds, balance }).toEqual({ refunds: action === 'CANCEL' ? ESIMS : 0, balance: sum })
}

describe.each(['SUSPEND', 'UNSUSPEND', 'REVOKE'] as const)('%s', (action) => {
  it.each(ACTION_POINTS)('is carried out once and without a refund if the worker dies at %s', async (point) => {
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'sandbox', { orders: ESIMS })
    await killAndTakeOver(shop, database.url, tenantId, action, point)
    const begun = await shop.db.query<{ actionId: string }>({
      text: 'select action_id from esim_actions where tenant_id = $1',
      values: [tenantId],
    })
    const records = await shop.db.query({
      text: 'select action, answer from sandbox_actions where key = any ($1)',
      values: [begun.map(({ actionId }) => orderNoOf(actionId))],
    })
    expect(records).toEqual(Array.from({ length: ESIMS }, () => ({ action, answer: 'DONE' })))
  })
})

describe('an action at an upstream gateway', () => {
  let scene: CrashScene
  beforeAll(async () => {
    scene = await gatewayScene()
  })
  afterAll(() => scene?.close())

  it.each(['REVOKE', 'CANCEL'] as const)(
    'of type %s is found there by its key after the worker died at gateway.acted',
    async (action) => {
      const productCode = await scene.product(action, false)
      await addPackage(scene.shop.db, action, [{ supplier: scene.supplier, productCode }])
      const tenantId = await addTenant(scene.shop.db)
      await payOrders(scene.shop.db, tenantId, action, { orders: ESIMS })
      await killAndTakeOver(scene.shop, scene.databaseUrl, tenantId, action, 'gateway.acted')
      expect(await scene.actionsAtUpstream!(action)).toEqual(Array(ESIMS).fill('DONE'))
    },
  )
})
