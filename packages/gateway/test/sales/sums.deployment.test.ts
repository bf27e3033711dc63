import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { createIds } from '@dealer-esim/lib/ids.ts'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { SANDBOX_PRODUCTS } from '@dealer-esim/wholesalers/sandbox/sandbox-records.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { actionLoop } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { removeTenants } from '#operations/trial/remove-tenants.ts'
import { updateSales } from '#sales/update-sales.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitUntil } from '../harness/shop.ts'
import { expectSumsToEqualRows } from './sales-model.ts'
import {
  expectDiscrepanciesToEqualRows,
  expectMonthsToEqualRows,
  expectOpenItemsInOpenOrders,
} from './supplier-months.ts'

/* Random orders, top-ups and actions over several days, with updates of the sums in between. SEED=… repeats a run. */

const RUNS = Number(process.env.MODEL_SEQUENCES ?? 8)
const PRICE = 45_000
const cancelPolicy = { cancellable: true, withinDays: null, feePercent: 10 }
const KEEPS_ALL = { cancellable: true, withinDays: null, feePercent: 100 }
/** Products of the sandbox, with a cost in the sales currency, a cost in another currency, or no cost. */
const ESIMS = {
  YES: { product: 'JP', cost: 30_000, currency: 'USD', cancelPolicy },
  FEE: { product: 'JP', cost: 20_000, currency: 'USD', cancelPolicy: KEEPS_ALL },
  EURO: { product: 'JP', cost: 25_000, currency: 'EUR', cancelPolicy },
  NONE: { product: 'JP', cost: null, currency: null, cancelPolicy },
  REFUSED: { product: SANDBOX_PRODUCTS.refused, cost: 30_000, currency: 'USD', cancelPolicy },
  LOST: { product: SANDBOX_PRODUCTS.unknown, cost: 30_000, currency: 'USD', cancelPolicy },
}
const TOP_UPS = { UP: 'JP_UP', UP_REFUSED: SANDBOX_PRODUCTS.refused }

let database: TestDatabase
let node: Node
let loops: Loop[]
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  const prices = [{ currencyCode: 'USD', price: PRICE, retailPrice: null }]
  const offers = [
    ...Object.entries(ESIMS).map(([packageCode, { product, cost, currency, cancelPolicy }]) => {
      const route = { supplier: 'sandbox', productCode: product, costPrice: cost, costCurrency: currency }
      return packageInput({ packageCode, status: 'ON_SALE', prices, suppliers: [route], cancelPolicy })
    }),
    ...Object.entries(TOP_UPS).map(([packageCode, productCode]) => {
      const route = { supplier: 'sandbox', productCode, costPrice: 10_000, costCurrency: 'USD' }
      return packageInput({ packageCode, status: 'ON_SALE', prices, suppliers: [route], packageType: 'TOPUP' })
    }),
  ]
  await putPackages(node.deps, offers, OPERATOR)
  loops = startLoops()
})
afterAll(async () => {
  for (const loop of loops ?? []) await loop.stop(5_000)
  await node?.stop()
  await database.drop()
})

const startLoops = () => [fulfilmentLoop(node.deps), actionLoop(node.deps)]

const codes = fc.constantFrom(...(Object.keys(ESIMS) as (keyof typeof ESIMS)[]))
const daysAgo = fc.nat({ max: 2 })
const chosen = fc.nat()
type Step =
  | { do: 'order'; packages: string[]; daysAgo: number }
  | { do: 'topUp'; packageCode: string; daysAgo: number; chosen: number }
  | { do: 'cancel' | 'resolve'; chosen: number }
  | { do: 'update' }
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ do: fc.constant('order' as const), daysAgo },
      packages: fc.array(codes, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ do: fc.constant('topUp' as const), daysAgo, chosen },
      packageCode: fc.constantFrom(...Object.keys(TOP_UPS)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('cancel' as const, 'resolve' as const), chosen }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('update' as const) }) },
)
/**
 * The steps in a group run concurrently. After some groups everything is finished, so that there are eSIMs to cancel or top
 * up.
 */
const groups = fc.array(fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 5 }), settles: fc.boolean() }), {
  maxLength: 6,
})
type Group = { steps: Step[]; settles: boolean }
const FIRST: Group = { steps: [{ do: 'order', packages: ['YES', 'FEE', 'EURO'], daysAgo: 1 }], settles: true }
/** After FIRST, these cause everything that the sums must contain. Random runs with few steps may miss something. */
const COMPLETE: Group[] = [
  {
    steps: [
      { do: 'order', packages: ['LOST'], daysAgo: 0 },
      { do: 'order', packages: ['REFUSED'], daysAgo: 2 },
      { do: 'topUp', packageCode: 'UP', daysAgo: 0, chosen: 5 },
    ],
    settles: true,
  },
  { steps: [{ do: 'cancel', chosen: 0 }], settles: true },
]

test('an eSIM is counted even if it is delivered after its order’s day was summed', async () => {
  const dealer = await addDealer(node.deps)
  for (const loop of loops) await loop.stop(5_000)
  await take({ do: 'order', packages: ['YES'], daysAgo: 1 }, dealer)
  await updateSales(node.deps.db)
  expect(await openJobs(dealer)).toBe(1)
  await expectSumsToEqualRows(node.deps.db)
  loops = startLoops()
  await waitUntil(async () => (await openJobs(dealer)) === 0)
  await updateSales(node.deps.db)
  await expectSumsToEqualRows(node.deps.db)
})

test('the sums equal the rows after random orders, refunds, top-ups and cancels, with updates in between', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.info(`sums model: SEED=${seed}`)
  const property = fc.asyncProperty(groups, async (taken) => {
    const dealer = await addDealer(node.deps)
    await changeSettings(node.deps, dealer.tenantId, { qpsLimit: QPS_LIMIT_MAX }, OPERATOR)
    const settled = () => waitUntil(async () => (await openJobs(dealer)) === 0)
    for (const { steps, settles } of [FIRST, ...taken]) {
      await Promise.all(steps.map((each) => take(each, dealer)))
      await expectOpenItemsInOpenOrders(node.deps.db)
      if (settles) await settled()
    }
    await updateSales(node.deps.db)
    await settled()
    await updateSales(node.deps.db)
    await expectSumsToEqualRows(node.deps.db)
    await expectMonthsToEqualRows(node.deps.db)
    await expectDiscrepanciesToEqualRows(node.deps.db)
  })
  await fc.assert(property, { seed, numRuns: RUNS, endOnFailure: true, examples: [[COMPLETE]] })
  const [met] = await node.deps.db.query({
    text: `select count(distinct day)::int as days, bool_or(order_type = 'TOPUP') as top_ups, bool_or(refunds > 0) as refunds,
             bool_or(unknown_items > 0) as unknown, bool_or(refunds > 0 and supplier <> '' and refunds < revenue) as fees
           from daily_sales`,
  })
  expect(met).toEqual({ days: 3, topUps: true, refunds: true, unknown: true, fees: true })
  await expectSumsAfterAMove()
}, 300_000)

/** The source of a move removes its dealer, and the target computes the sums from the rows that it has received. */
async function expectSumsAfterAMove(): Promise<void> {
  const { db } = node.deps
  const [dealer] = await db.query<{ tenantId: string }>({
    text: 'select tenant_id from daily_sales group by 1 order by sum(items) desc, 1 limit 1',
  })
  const before = await db.query({ text: READ_PURCHASES })
  await removeTenants(db, [dealer!.tenantId])
  expect(await db.query({ text: READ_PURCHASES })).not.toEqual(before)
  await expectSumsToEqualRows(db)
  await expectMonthsToEqualRows(db)
  const left = await db.query({ text: READ_PURCHASES })
  for (const table of ALL_SUMS) await db.query({ text: `delete from ${table}` })
  await updateSales(db)
  expect(await db.query({ text: READ_PURCHASES })).toEqual(left)
  await expectSumsToEqualRows(db)
  await expectMonthsToEqualRows(db)
}

const READ_PURCHASES = 'select * from daily_purchases order by 1, 2, 3, 4, 5'
const ALL_SUMS = [
  ...['daily_sales', 'daily_sales_tenants', 'daily_sales_tenant_suppliers', 'monthly_sales_tenants', 'daily_orders'],
  ...['daily_sales_packages', 'daily_purchases', 'order_quarter_hours', 'sales_progress'],
]

async function take(step: Step, dealer: Dealer): Promise<void> {
  const { deps } = node
  switch (step.do) {
    case 'order': {
      const packageInfoList = step.packages.map((packageCode) => ({ packageCode, count: 2 }))
      return place(dealer, step.daysAgo, { transactionId: deps.ids.uuid(), packageInfoList })
    }
    case 'topUp': {
      const esimTranNo = pick(await idsOf(dealer, ESIMS_OF), step.chosen)
      if (esimTranNo === undefined) return
      const { packageCode } = step
      return place(dealer, step.daysAgo, { transactionId: deps.ids.uuid(), esimTranNo, packageCode }, 'TOPUP')
    }
    case 'cancel': {
      const esimTranNo = pick(await idsOf(dealer, ESIMS_OF), step.chosen)
      const body = { transactionId: deps.ids.uuid(), action: 'CANCEL', esimTranNo }
      if (esimTranNo !== undefined) await call(node, dealer, 'esim/cancel', { body: JSON.stringify(body) })
      return
    }
    case 'resolve': {
      const orderId = pick(await idsOf(dealer, REVIEWED_OF), step.chosen)
      if (orderId === undefined) return
      const verdict = { kind: 'refused' as const }
      const resolution = { tenantId: dealer.tenantId, orderId, verdict, evidence: 'ticket 1' }
      await resolveOrder(deps, resolution, OPERATOR).catch(ignoreRefusal)
      return
    }
    case 'update':
      await updateSales(deps.db)
      return
    default:
      step satisfies never
  }
}

const ESIMS_OF = `select profile_id as id from profiles where tenant_id = $1 and esim_status <> 'CANCEL' order by 1`
const REVIEWED_OF = `select order_id as id from orders where tenant_id = $1 and order_status = 'UNDER_REVIEW' order by 1`

async function idsOf({ tenantId }: Dealer, text: string): Promise<string[]> {
  return (await node.deps.db.query<{ id: string }>({ text, values: [tenantId] })).map(({ id }) => id)
}

function pick(ids: string[], chosen: number): string | undefined {
  return ids[chosen % Math.max(1, ids.length)]
}

/** Places an order with an id from an earlier day, so that later changes to it happen days afterwards. */
async function place(dealer: Dealer, daysAgo: number, request: object, orderType?: 'TOPUP'): Promise<void> {
  const ids = createIds(() => Date.now() - daysAgo * 86_400_000)
  const tenant = { tenantId: dealer.tenantId, currencyCode: 'USD' }
  const placing = node.deps.orderPlacer.place({
    tenant,
    orderId: ids.uuid(),
    request,
    ...(orderType && { orderType }),
  } as never)
  await Promise.resolve(placing).catch(ignoreRefusal)
  node.deps.wake.wake('fulfilment')
}

/** Ignores refusals: another step may be cancelling the eSIM, or may already have resolved the order. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ApiError || error instanceof Refusal)) throw error
}

async function openJobs({ tenantId }: Dealer): Promise<number> {
  const [row] = await node.deps.db.query<{ open: number }>({
    text: `select (select count(*)::int from orders where tenant_id = $1 and order_status in ('PAID', 'ALLOCATING'))
             + (select count(*)::int from esim_actions where tenant_id = $1 and action_status = 'PENDING') as open`,
    values: [tenantId],
  })
  return row!.open
}
