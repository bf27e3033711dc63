import { type EsimAction, orderNoOf, QPS_LIMIT_MAX } from '@dealer-esim/contract'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import { SANDBOX_PRODUCTS } from '@dealer-esim/wholesalers/sandbox/sandbox-records.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { actionLoop } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitUntil } from '../harness/shop.ts'

/*
 * Random top-ups and actions on a few eSIMs, sent to two nodes at the same time, with few transactionIds, so that they
 * replay, conflict and exclude each other. Afterwards the records of gateway, supplier and ledger must agree. SEED=…
 * repeats a run.
 */

const RUNS = Number(process.env.MODEL_SEQUENCES ?? 12)
/** Sequences that run concurrently, each for a different dealer, because they mostly wait for retries. */
const LANES = 4
const PRICE = 45_000
const FEE_PERCENT = 10
const VOLUME = 1_073_741_824
/** Packages, each named after the supplier's answer to every action on its eSIMs. */
const ESIMS = { YES: 'JP', NO: SANDBOX_PRODUCTS.actionRefused, LOST: SANDBOX_PRODUCTS.actionUnknown }
const TOP_UPS = { UP: 'JP_UP', UP_REFUSED: SANDBOX_PRODUCTS.refused, UP_LOST: SANDBOX_PRODUCTS.unknown }

type Step = { transactionId: string; esim: number; node: number } & (
  | { do: 'topup'; packageCode: string }
  | { do: 'order' }
  | { do: 'use' }
  | { do: 'action'; action: EsimAction }
)

let database: TestDatabase
let nodes: Node[]
let loops: Loop[]

beforeAll(async () => {
  database = await createTestDatabase()
  nodes = [await startNode(database.url), await startNode(database.url)]
  const one = (packageCode: string, productCode: string, members: object) =>
    packageInput({
      packageCode,
      status: 'ON_SALE',
      prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
      suppliers: [{ supplier: 'sandbox', productCode }],
      ...members,
    })
  const cancelPolicy = { cancellable: true, withinDays: null, feePercent: FEE_PERCENT }
  await putPackages(
    nodes[0]!.deps,
    [
      ...Object.entries(ESIMS).map(([code, product]) => one(code, product, { cancelPolicy })),
      ...Object.entries(TOP_UPS).map(([code, product]) => one(code, product, { packageType: 'TOPUP' })),
    ],
    OPERATOR,
  )
  loops = nodes.flatMap(({ deps }) => [fulfilmentLoop(deps), actionLoop(deps)])
})
afterAll(async () => {
  for (const loop of loops ?? []) await loop.stop(5_000)
  for (const node of nodes ?? []) await node.stop()
  await database.drop()
})

// Few of each, so that steps affect each other.
const base = {
  transactionId: fc.constantFrom('T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7', 'T8'),
  esim: fc.nat({ max: 3 }),
  node: fc.nat({ max: 1 }),
}
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...base,
      do: fc.constant('topup' as const),
      packageCode: fc.constantFrom('UP', 'UP', 'UP', 'UP_REFUSED', 'UP_LOST'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      ...base,
      do: fc.constant('action' as const),
      action: fc.constantFrom<EsimAction[]>('CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...base, do: fc.constant('order' as const) }) },
  { weight: 1, arbitrary: fc.record({ ...base, do: fc.constant('use' as const) }) },
)
/** Groups of steps. The steps in a group run concurrently. */
const groups = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 6 })

test('concurrent top-ups and actions in any order match the supplier’s records and the ledger', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.info(`life model: SEED=${seed}`)
  const property = fc.asyncProperty(groups, async (taken) => {
    const { deps } = nodes[0]!
    const dealer = await addDealer(deps)
    await changeSettings(deps, dealer.tenantId, { qpsLimit: QPS_LIMIT_MAX }, OPERATOR)
    const esims = await buyEsims(dealer)
    for (const group of taken) await Promise.all(group.map((each) => take(each, dealer, esims)))
    await waitUntil(async () => (await openJobs(dealer)) === 0)
    await expectRecordsToAgree(dealer)
  })
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    fc.assert(property, { seed: seed + lane, numRuns: Math.ceil(RUNS / LANES), endOnFailure: true }),
  )
  await Promise.all(lanes)
}, 300_000)

async function buyEsims(dealer: Dealer): Promise<string[]> {
  const esims: string[] = []
  for (const packageCode of ['YES', 'YES', 'NO', 'LOST']) {
    const transactionId = `E${esims.length}`
    await send(0, dealer, 'esim/order', { transactionId, packageInfoList: [{ packageCode, count: 1 }] })
    const [esim] = await waitUntil(async () => {
      const { data } = await send(0, dealer, 'esim/profile/list', { transactionId })
      return data.profileList.length > 0 && data.profileList
    })
    esims.push(esim.esimTranNo)
  }
  return esims
}

function send(node: number, dealer: Dealer, operation: string, body: object) {
  return call(nodes[node]!, dealer, operation, { body: JSON.stringify(body) })
}

const REFUSALS = ['200002', '200012', '310403']

/** Sends the same body to both nodes at the same time, and checks that the repeat is the same order or action. */
async function take(given: Step, dealer: Dealer, esims: string[]): Promise<void> {
  const { transactionId, node } = given
  const esimTranNo = esims[given.esim]!
  if (given.do === 'use') {
    await nodes[0]!.deps.db.query({
      text: `update profiles set esim_status = 'IN_USE', smdp_status = 'ENABLED'
             where tenant_id = $1 and profile_id = $2 and esim_status = 'GOT_RESOURCE'
               and not exists (select from esim_actions a where a.tenant_id = $1 and a.profile_id = $2)`,
      values: [dealer.tenantId, esimTranNo],
    })
    return
  }
  const [operation, body] =
    given.do === 'action'
      ? [`esim/${given.action.toLowerCase()}`, { transactionId, action: given.action, esimTranNo }]
      : given.do === 'topup'
        ? ['esim/topup', { transactionId, esimTranNo, packageCode: given.packageCode }]
        : ['esim/order', { transactionId, packageInfoList: [{ packageCode: 'YES', count: 1 }] }]
  const answers = await Promise.all([node, 1 - node].map((at) => send(at, dealer, operation, body)))
  const accepted = answers.filter(({ code }) => code === '000000')
  for (const { code } of answers) if (code !== '000000') expect(REFUSALS).toContain(code)
  expect(new Set(accepted.map(({ data }) => data.actionNo ?? data.orderNo)).size).toBeLessThanOrEqual(1)
  const firsts = accepted.filter(({ headers }) => headers['idempotent-replayed'] !== 'true')
  expect(firsts.length).toBeLessThanOrEqual(1)
}

/** Counts the orders and actions that are neither final nor under review. */
async function openJobs({ tenantId }: Dealer): Promise<number> {
  const [row] = await nodes[0]!.deps.db.query<{ open: number }>({
    text: `select (select count(*)::int from orders where tenant_id = $1 and order_status in ('PAID', 'ALLOCATING'))
             + (select count(*)::int from esim_actions where tenant_id = $1 and action_status = 'PENDING') as open`,
    values: [tenantId],
  })
  return row!.open
}

async function expectRecordsToAgree({ tenantId }: Dealer): Promise<void> {
  const { db } = nodes[0]!.deps
  const faults: string[] = []
  await verifyLedger(db, { tenantId, onFault: ({ message }) => faults.push(message) })
  expect(faults).toEqual([])
  const values = [tenantId]
  const shared = await db.query({
    text: `select transaction_id from orders where tenant_id = $1
           intersect select transaction_id from esim_actions where tenant_id = $1`,
    values,
  })
  expect(shared).toEqual([])

  const topUps = await db.query<{ orderId: string; orderStatus: string; packageCode: string }>({
    text: `select order_id, order_status, package_lines -> 0 ->> 'packageCode' as package_code from orders
           where tenant_id = $1 and order_type = 'TOPUP'`,
    values,
  })
  for (const { orderId, orderStatus, packageCode } of topUps) {
    const expected = { UP: 'DELIVERED', UP_REFUSED: 'FAILED', UP_LOST: 'UNDER_REVIEW' }[packageCode]
    expect([packageCode, orderStatus]).toEqual([packageCode, expected])
    const money = await db.query({
      text: 'select kind, amount from transfers where tenant_id = $1 and order_id = $2 order by wallet_version',
      values: [tenantId, orderId],
    })
    const refund = orderStatus === 'FAILED' ? [{ kind: 'REFUND', amount: BigInt(PRICE) }] : []
    expect(money).toEqual([{ kind: 'ESIM_TOPUP', amount: BigInt(PRICE) }, ...refund])
    const records = await db.query({
      text: 'select requests from sandbox_issued where key like $1',
      values: [`${orderNoOf(orderId)}-%`],
    })
    expect(records).toEqual([{ requests: 1 }])
  }

  const esims = await db.query<{ profileId: string; totalVolume: bigint; delivered: bigint }>({
    text: `select profile_id, total_volume::bigint as total_volume, (select count(*) from orders o where o.tenant_id = $1
             and o.topped_up_profile_id = p.profile_id and o.order_status = 'DELIVERED') as delivered
           from profiles p where tenant_id = $1`,
    values,
  })
  for (const { totalVolume, delivered } of esims) {
    expect(Number(totalVolume)).toBe(VOLUME * (1 + Number(delivered)))
  }

  await expectActionsToAgree(tenantId)
}

/** The final status of an action, by the package of its eSIM. */
const ENDS: Record<string, string[]> = { YES: ['DONE'], NO: ['REFUSED'], LOST: ['UNDER_REVIEW'] }
const STATES: Partial<Record<EsimAction, string>> = { CANCEL: 'CANCEL', REVOKE: 'REVOKED' }

async function expectActionsToAgree(tenantId: string): Promise<void> {
  const { db } = nodes[0]!.deps
  const actions = await db.query<{
    actionId: string
    action: EsimAction
    actionStatus: string
    orderId: string
    itemNo: number
    esimStatus: string
    packageCode: string
  }>({
    text: `select a.action_id, a.action, a.action_status, a.order_id, a.item_no, p.esim_status, i.package_code
           from esim_actions a join profiles p using (tenant_id, profile_id)
             join order_items i on i.tenant_id = a.tenant_id and i.order_id = a.order_id and i.item_no = a.item_no
           where a.tenant_id = $1`,
    values: [tenantId],
  })
  let cancelled = 0
  for (const { actionId, action, actionStatus, orderId, itemNo, esimStatus, packageCode } of actions) {
    expect([packageCode, ENDS[packageCode]]).toEqual([packageCode, expect.arrayContaining([actionStatus])])
    const state = STATES[action]
    if (actionStatus === 'DONE' && state !== undefined) expect(esimStatus).toBe(state)
    const [record] = await db.query<{ action: EsimAction; answer: string; requests: number }>({
      text: 'select action, answer, requests from sandbox_actions where key = $1',
      values: [orderNoOf(actionId)],
    })
    const answer = { DONE: 'DONE', REFUSED: 'REFUSED', UNDER_REVIEW: 'LOST' }[actionStatus]
    expect(record).toMatchObject({ action, answer })
    if (actionStatus !== 'UNDER_REVIEW') expect(record!.requests).toBe(1)
    const refunds = await db.query({
      text: `select amount from transfers where tenant_id = $1 and order_id = $2 and item_no = $3 and kind = 'REFUND'`,
      values: [tenantId, orderId, itemNo],
    })
    if (action === 'CANCEL' && actionStatus === 'DONE') {
      cancelled++
      expect(refunds).toEqual([{ amount: BigInt((PRICE * (100 - FEE_PERCENT)) / 100) }])
    } else if (esimStatus !== 'CANCEL') expect(refunds).toEqual([])
  }
  const [total] = await db.query<{ refunds: number; refused: number }>({
    text: `select (select count(*)::int from transfers where tenant_id = $1 and kind = 'REFUND') as refunds,
             (select count(*)::int from orders where tenant_id = $1 and order_type = 'TOPUP' and order_status = 'FAILED')
               as refused`,
    values: [tenantId],
  })
  expect(total!.refunds).toBe(cancelled + total!.refused)
}
