import { randomUUID } from 'node:crypto'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { setOnSale } from '#catalogue/packages/put-packages.ts'
import type { Verdict } from '#orders/placing/decide-order.ts'
import type { OrderInput } from '#orders/placing/order-input.ts'
import { createOrderPlacer, type OrderPlacer } from '#orders/placing/order-placer.ts'
import { placeLocked } from '#orders/placing/place-batch.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'

/*
 * A batch answers as if its orders had arrived one at a time. The reference below implements the contract's section on
 * orders as simply as possible, without batches, SQL or our code.
 */

const PRICES = { JP_1_7: 45_000, FR_1_7: 0, US_3_30: 0 } // the two zeros are replaced from package/list below
const UNKNOWN = 'NO_SUCH_PACKAGE'
const OFF_SALE = 'GB_1_7'
const CODES = [...Object.keys(PRICES), UNKNOWN, OFF_SALE] as const

interface TestOrder {
  wallet: number
  transactionId: string
  lines: { code: string; count: number; guard: 'none' | 'right' | 'wrong' }[]
  amountGuard: 'none' | 'right' | 'wrong'
}

interface TestWallet {
  balance: number
  credit: number
  dailyLimit: number | null
}

const price = new Map<string, number>()
let database: TestDatabase
let node: Node

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
  const { db, ids } = node.deps
  expect(await setOnSale({ db, ids }, { packageCodes: [OFF_SALE] }, false, SYSTEM)).toEqual([OFF_SALE])
  const rows = await node.deps.db.query<{ packageCode: string; price: bigint }>({
    text: `select package_code, price from list_prices where currency_code = 'USD' and package_code = any($1)`,
    values: [Object.keys(PRICES)],
  })
  for (const row of rows) price.set(row.packageCode, Number(row.price))
  expect(price.get('JP_1_7')).toBe(PRICES.JP_1_7)
  expect(price.size).toBe(3)
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

async function createWallets(wallets: TestWallet[]): Promise<string[]> {
  const ids = wallets.map(() => node.deps.ids.uuid())
  await node.deps.db.tx(async (tx) => {
    for (const [index, testWallet] of wallets.entries()) {
      const id = ids[index]!
      const values = [id, randomUUID()]
      tx.send({
        text: `insert into tenants (tenant_id, app_key, tenant_name, currency_code) values ($1, $2, 'x', 'USD')`,
        values,
      })
      tx.send({
        // Money spent on another day does not count.
        text: `insert into wallets (tenant_id, currency_code, balance, credit_limit, daily_spend_limit, spent, version)
               values ($1, 'USD', $2, $3, $4, 1000000, 1)`,
        values: [id, testWallet.balance, testWallet.credit, testWallet.dailyLimit],
      })
      tx.send({
        text: `insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, reference, created_at)
               values ($1, 1, 'TOP_UP', 'TOP_UPS', 'WALLET', $2, $2, 'opening', now() - interval '1 minute')`,
        values: [id, testWallet.balance],
      })
    }
  })
  return ids
}

const inputOf = (testOrder: TestOrder, tenantIds: string[]): OrderInput => {
  const total = totalOf(testOrder) ?? 0
  return {
    tenant: { tenantId: tenantIds[testOrder.wallet]!, currencyCode: 'USD' },
    orderId: node.deps.ids.uuid(),
    request: {
      transactionId: testOrder.transactionId,
      packageInfoList: testOrder.lines.map(({ code, count, guard }) => ({
        packageCode: code,
        count,
        ...(guard === 'none' ? {} : { price: (price.get(code) ?? 7) + (guard === 'wrong' ? 1 : 0) }),
      })),
      ...(testOrder.amountGuard === 'none' ? {} : { amount: total + (testOrder.amountGuard === 'wrong' ? 1 : 0) }),
    },
  }
}

function totalOf(testOrder: TestOrder): number | undefined {
  let total = 0
  for (const { code, count } of testOrder.lines) {
    const each = price.get(code)
    if (each === undefined) return undefined
    total += each * count
  }
  return total
}

/** Returns the outcomes of the orders, decided one at a time in the given order. */
function reference(wallets: TestWallet[], testOrders: TestOrder[]): { outcome: string; balance?: number }[] {
  const state = wallets.map((testWallet) => ({
    ...testWallet,
    spent: 0,
    orders: new Map<string, { content: string; balance: number }>(),
  }))
  return testOrders.map((testOrder) => {
    const testWallet = state[testOrder.wallet]!
    const content = testOrder.lines
      .map(({ code, count }) => `${code} × ${count}`)
      .sort()
      .join()
    const earlier = testWallet.orders.get(testOrder.transactionId)
    if (earlier)
      return earlier.content === content ? { outcome: 'replayed', balance: earlier.balance } : { outcome: '200012' }
    for (const { code, guard } of testOrder.lines) {
      if (code === UNKNOWN) return { outcome: '310241' }
      if (code === OFF_SALE) return { outcome: '310244' }
      if (guard === 'wrong') return { outcome: '200005' }
    }
    const total = totalOf(testOrder)!
    if (testOrder.amountGuard === 'wrong') return { outcome: '200006' }
    if (total > testWallet.balance + testWallet.credit) return { outcome: '200007' }
    if (testWallet.dailyLimit !== null && testWallet.spent + total > testWallet.dailyLimit) return { outcome: '200014' }
    testWallet.balance -= total
    testWallet.spent += total
    testWallet.orders.set(testOrder.transactionId, { content, balance: testWallet.balance })
    return { outcome: 'placed', balance: testWallet.balance }
  })
}

function outcomeOf(verdict: Verdict): { outcome: string; balance?: number } {
  if (verdict.kind === 'refused') return { outcome: verdict.code }
  return { outcome: verdict.kind, balance: verdict.answer.balanceAfter }
}

const testWallet = fc.record({
  balance: fc.integer({ min: 0, max: 600_000 }),
  credit: fc.constantFrom(0, 0, 100_000),
  dailyLimit: fc.option(fc.integer({ min: 0, max: 400_000 }), { freq: 3 }),
})
const guard = fc.constantFrom('none', 'none', 'none', 'none', 'right', 'wrong') as fc.Arbitrary<
  'none' | 'right' | 'wrong'
>
const testOrder = fc.record({
  wallet: fc.integer({ min: 0, max: 2 }),
  transactionId: fc.constantFrom('T-1', 'T-2', 'T-3', 'T-4', 'T-5', 'T-6'),
  lines: fc.uniqueArray(
    fc.record({
      code: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...Object.keys(PRICES)) },
        { weight: 1, arbitrary: fc.constantFrom(...CODES) },
      ),
      count: fc.integer({ min: 1, max: 3 }),
      guard,
    }),
    { minLength: 1, maxLength: 3, selector: (line) => line.code },
  ),
  amountGuard: guard,
})

describe('a batch of orders', () => {
  it('gets the same answers and leaves the same wallets as individual orders', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(testWallet, { minLength: 3, maxLength: 3 }),
        fc.array(testOrder, { minLength: 1, maxLength: 16 }),
        fc.integer({ min: 1, max: 16 }),
        async (wallets, testOrders, cut) => {
          const tenantIds = await createWallets(wallets)
          // Two consecutive batches: the second finds what the first committed.
          const orders = testOrders.map((each) => inputOf(each, tenantIds))
          const verdicts: Verdict[] = []
          for (const part of [orders.slice(0, cut), orders.slice(cut)]) {
            if (part.length > 0) verdicts.push(...(await node.deps.db.tx((tx) => place(tx, part))))
          }
          const expected = reference(wallets, testOrders)
          expect(verdicts.map(outcomeOf)).toEqual(expected)
          await expectTables(tenantIds, wallets, testOrders, expected)
        },
      ),
      { numRuns: 150, verbose: 1 },
    )
  })

  it('has the same result on nodes with cached wallets, whichever node runs the next batch', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(testWallet, { minLength: 3, maxLength: 3 }),
        fc.array(fc.record({ node: fc.nat(1), testOrders: fc.array(testOrder, { minLength: 1, maxLength: 4 }) }), {
          minLength: 1,
          maxLength: 8,
        }),
        async (wallets, batches) => {
          const tenantIds = await createWallets(wallets)
          const placers = [createPlacer(), createPlacer()]
          const verdicts: Verdict[] = []
          for (const { node: at, testOrders } of batches) {
            passedMs += 10_000 // the pause after a failed attempt is over, so the cache is used for the next order
            const orders = testOrders.map((each) => placers[at]!.place(inputOf(each, tenantIds)))
            verdicts.push(...(await Promise.all(orders)))
          }
          const testOrders = batches.flatMap((batch) => batch.testOrders)
          const expected = reference(wallets, testOrders)
          expect(verdicts.map(outcomeOf)).toEqual(expected)
          await expectTables(tenantIds, wallets, testOrders, expected)
        },
      ),
      { numRuns: 100, verbose: 1 },
    )
  })

  it('sees the orders that were placed while the batch waited for its wallet', async () => {
    const tenantIds = await createWallets([{ balance: 100_000, credit: 0, dailyLimit: null }])
    const line = { code: 'JP_1_7', count: 1, guard: 'none' } as const
    const twin = () => inputOf({ wallet: 0, transactionId: 'T-1', lines: [line], amountGuard: 'none' }, tenantIds)
    const { db } = node.deps
    let waiting: Promise<Verdict[]> | undefined
    await db.tx(async (tx) => {
      await place(tx, [twin()])
      waiting = db.tx((other) => place(other, [twin()]))
      await waitForBlockedStatements(db)
    })
    expect((await waiting!).map(outcomeOf)).toEqual([{ outcome: 'replayed', balance: 100_000 - PRICES.JP_1_7 }])
  })
})

let passedMs = 0

/** Returns a placer whose clock stands still during a batch. */
function createPlacer(): OrderPlacer {
  const { db, databaseClock, ids, catalogue } = node.deps
  return createOrderPlacer({
    ...{
      db,
      databaseClock,
      ids,
      catalogue,
      stock: { available: () => undefined },
      suppliers: { get: () => undefined },
    },
    clock: { now: Date.now, monotonic: () => passedMs },
    maintainPartitions: async () => {},
    wake: { wake() {} },
    log: {
      warn({ err }: { err: unknown }) {
        throw err
      },
    },
  })
}

async function place(tx: Tx, testOrders: OrderInput[]): Promise<Verdict[]> {
  const { ids, catalogue } = node.deps
  const { verdicts } = await placeLocked(
    tx,
    { ids, catalogue, stock: { available: () => undefined }, suppliers: { get: () => undefined } },
    testOrders,
  )
  return verdicts
}

async function expectTables(
  tenantIds: string[],
  wallets: TestWallet[],
  testOrders: TestOrder[],
  expected: { outcome: string; balance?: number }[],
) {
  for (const [index, tenantId] of tenantIds.entries()) {
    const placed = testOrders.flatMap((each, position) =>
      each.wallet === index && expected[position]!.outcome === 'placed'
        ? [{ testOrder: each, balance: expected[position]!.balance! }]
        : [],
    )
    const [row] = await node.deps.db.query<Record<string, unknown>>({
      text: `select w.balance::int as balance,
               (select count(*)::int from orders o where o.tenant_id = w.tenant_id) as orders,
               (select count(*)::int from order_items i where i.tenant_id = w.tenant_id) as items,
               (select count(*)::int from events e where e.tenant_id = w.tenant_id and notify_type = 'ORDER_PAID') as events,
               (select count(*)::int from deliveries d where d.tenant_id = w.tenant_id and delivery_state = 'UNSENT') as unsent,
               (select count(*)::int from transfers t where t.tenant_id = w.tenant_id and kind = 'ORDER') as debits
             from wallets w where tenant_id = $1`,
      values: [tenantId],
    })
    expect(row).toEqual({
      balance: placed.at(-1)?.balance ?? wallets[index]!.balance,
      orders: placed.length,
      items: placed.reduce((sum, each) => sum + each.testOrder.lines.reduce((count, line) => count + line.count, 0), 0),
      events: placed.length,
      unsent: placed.length, // there is no endpoint; an event without a delivery counts as acknowledged
      debits: placed.length,
    })
    const faults: string[] = []
    await verifyLedger(node.deps.db, { tenantId, onFault: (fault) => faults.push(fault.message) })
    expect(faults).toEqual([])
  }
}
