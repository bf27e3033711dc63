import { randomUUID } from 'node:crypto'
import type { BalanceLowContent } from '@dealer-esim/contract'
import fc from 'fast-check'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { approveAdjustment, proposeAdjustment } from '#wallet/ledger/adjust.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { addDealer, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { ALICE, BOB } from '../harness/wallets.ts'

/* BALANCE_LOW: once for each threshold step that a debit takes the balance below. */

const PRICE = 45_000
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

let database: TestDatabase
let node: Node
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** A dealer who can afford this many eSIMs, with a threshold of this many. */
async function dealerWith(balance: number, threshold: number): Promise<Dealer> {
  const dealer = await addDealer(node.deps, 0)
  await credit(dealer, balance)
  await setThreshold(dealer, threshold)
  return dealer
}

const setThreshold = (dealer: Dealer, eSims: number | null) =>
  changeSettings(
    node.deps,
    dealer.tenantId,
    { lowBalanceThreshold: eSims === null ? null : BigInt(eSims * PRICE) },
    ALICE,
  )

const order = ({ tenantId }: Dealer, count: number) =>
  node.deps.orderPlacer.place({
    tenant: { tenantId, currencyCode: 'USD' },
    orderId: node.deps.ids.uuid(),
    request: { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count }] },
  })

const credit = ({ tenantId }: Dealer, eSims: number) =>
  topUp(node.deps, { tenantId, amount: BigInt(eSims * PRICE), reference: randomUUID() }, ALICE)

async function adjust({ tenantId }: Dealer, eSims: number): Promise<void> {
  const input = { tenantId, amount: BigInt(eSims * PRICE), reference: randomUUID(), reason: 'test' }
  const { adjustmentId } = await proposeAdjustment(node.deps, input, ALICE)
  await approveAdjustment(node.deps, tenantId, adjustmentId, BOB)
}

async function events({ tenantId }: Dealer) {
  const rows = await node.deps.db.query<{
    content: BalanceLowContent
    orderId: string | null
    deliveryState: string
  }>(sql`
    select e.content, e.order_id, d.delivery_state from events e left join deliveries d using (tenant_id, notify_id)
    where e.tenant_id = ${tenantId} and e.notify_type = 'BALANCE_LOW' order by e.notify_id`)
  return rows
}

const percents = async (dealer: Dealer) => (await events(dealer)).map(({ content }) => content.percent)

it('each low-balance step is reported once, with the balance after the debit, in the debit’s transaction', async () => {
  const dealer = await dealerWith(21, 20)
  for (let count = 0; count < 20; count++) expect(await order(dealer, 1)).toMatchObject({ kind: 'placed' })
  expect(await percents(dealer)).toEqual([100, 75, 50, 10])
  const [first] = await events(dealer)
  expect(first).toEqual({
    orderId: null,
    deliveryState: 'UNSENT',
    content: {
      ...{ balance: 19 * PRICE, availableBalance: 19 * PRICE, lowBalanceThreshold: 20 * PRICE, percent: 100 },
      ...{ currencyCode: 'USD', lastUpdateTime: expect.any(String) },
    },
  })
  const [debit] = await node.deps.db.query(sql`
    select 1 as found from transfers t, events e
    where t.tenant_id = ${dealer.tenantId} and e.tenant_id = t.tenant_id and t.balance_after = ${19 * PRICE}
      and e.notify_type = 'BALANCE_LOW' and (e.content->>'percent') = '100' and e.created_at = t.created_at
      and (e.content->>'lastUpdateTime')::timestamptz = t.created_at`)
  expect(debit).toEqual({ found: 1 })
})

it('a fall through several steps reports only the lowest, and a rise re-arms those that the balance exceeds', async () => {
  const dealer = await dealerWith(21, 20)
  await order(dealer, 12)
  expect(await percents(dealer)).toEqual([50])
  await credit(dealer, 9)
  await order(dealer, 2)
  expect(await percents(dealer)).toEqual([50])
  await credit(dealer, 5)
  await order(dealer, 2)
  expect(await percents(dealer)).toEqual([50, 100])
})

it('changed limits and thresholds are not reported by themselves, but the next lower step is', async () => {
  const dealer = await dealerWith(10, 1)
  await setThreshold(dealer, 20)
  await changeSettings(node.deps, dealer.tenantId, { creditLimit: 50_000n }, ALICE)
  expect(await percents(dealer)).toEqual([])
  await order(dealer, 1)
  expect(await percents(dealer)).toEqual([50])
  expect((await events(dealer))[0]!.content.availableBalance).toBe(9 * PRICE + 50_000)
})

it('a negative adjustment counts as a debit like any other', async () => {
  const dealer = await dealerWith(21, 20)
  await adjust(dealer, -2)
  await adjust(dealer, 5)
  expect(await percents(dealer)).toEqual([100])
})

it('200 concurrent orders report each step at most once, and end below the lowest step', async () => {
  const dealer = await dealerWith(200, 200)
  await Promise.all(Array.from({ length: 200 }, () => order(dealer, 1)))
  const reported = await percents(dealer)
  expect(reported).toEqual([...new Set(reported)].sort((left, right) => right - left))
  expect(reported.at(-1)).toBe(10)
})

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('order' as const), count: fc.integer({ min: 1, max: 9 }) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('credit' as const), count: fc.integer({ min: 1, max: 20 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('adjust' as const), count: fc.integer({ min: -9, max: -1 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('threshold' as const),
        count: fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 40 })),
      }),
    },
  ),
  { maxLength: 12 },
)

it('the events match a model for any orders, credits, adjustments and thresholds', async () => {
  const property = fc.asyncProperty(steps, async (sequence) => {
    const dealer = await dealerWith(20, 20)
    const expected: number[] = []
    let [balance, threshold]: [number, number | null] = [20, 20]
    const isBelow = (percent: number, amount: number) => threshold !== null && amount * 100 < threshold * percent
    for (const step of sequence) {
      if (step.do === 'threshold') {
        threshold = step.count
        await setThreshold(dealer, threshold)
        continue
      }
      const after = balance + (step.do === 'order' ? -step.count : step.count)
      if (step.do === 'order' && after < 0) continue
      if (step.do === 'order') expect(await order(dealer, step.count)).toMatchObject({ kind: 'placed' })
      else if (step.do === 'credit') await credit(dealer, step.count)
      else await adjust(dealer, step.count)
      const crossed = [10, 50, 75, 100].find((percent) => isBelow(percent, after) && !isBelow(percent, balance))
      if (crossed !== undefined) expected.push(crossed)
      balance = after
    }
    expect(await percents(dealer)).toEqual(expected)
  })
  console.log(`low balance: SEED=${seed}`)
  await fc.assert(property, { seed, numRuns: 40 })
})
