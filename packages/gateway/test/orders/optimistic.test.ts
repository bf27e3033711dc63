import { randomUUID } from 'node:crypto'
import { timeOfUuid } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import { setOnSale } from '#catalogue/packages/put-packages.ts'
import { setListPrices } from '#catalogue/prices/prices.ts'
import type { Verdict } from '#orders/placing/decide-order.ts'
import { createOrderPlacer, type OrderPlacer } from '#orders/placing/order-placer.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'

/*
 * A node decides an order on a cached wallet, without reading anything. Any change made since must be detected under the
 * wallet's lock, and the order must be decided again.
 */

const PRICE = 45_000
const OPENING = 10_000_000
const DAY_MS = 86_400_000
const LOCKS = 'wallets-lock'
const WRITES = 'orders-write-if-unchanged'
/** The limit in orders/placing/write-orders.ts: a statement that waited longer than this for its wallet writes nothing. */
const LOCK_WAIT_MAX_MS = 50

let database: TestDatabase
let node: Node
let db: Db & { close(): Promise<void> }

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
  db = createDb({ url: database.url, poolSize: 4, applicationName: 'orders under test', genericPlans: true })
})
afterAll(async () => {
  await db.close()
  await node.stop()
  await database.drop()
})

/** A separate placer, as on another node, and the statements it sends. */
function createPlacer(aheadMs = () => 0, query: Db['query'] = db.query) {
  const { clock, databaseClock, ids, catalogue } = node.deps
  const statements: string[] = []
  const listening: Db = {
    ...db,
    tx: (work) =>
      db.tx((tx) =>
        work({
          ...tx,
          query(statement) {
            statements.push(statement.name!)
            return tx.query(statement)
          },
        }),
      ),
    query(statement) {
      statements.push(statement.name!)
      return query(statement)
    },
  }
  const placer = createOrderPlacer({
    ...{ db: listening, clock, ids, catalogue },
    ...{ stock: { available: () => undefined }, suppliers: { get: () => undefined } },
    databaseClock: { now: () => databaseClock.now() + aheadMs() },
    maintainPartitions: async () => {},
    wake: { wake() {} },
    log: {
      warn({ err }: { err: unknown }) {
        throw err
      },
    },
  })
  return { placer, statements }
}

interface Wanted {
  transactionId?: string
  count?: number
}

function place(placer: OrderPlacer, { tenantId }: Dealer, { transactionId = randomUUID(), count = 1 }: Wanted = {}) {
  const request = { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count }] }
  return placer.place({ tenant: { tenantId, currencyCode: 'USD' }, orderId: node.deps.ids.uuid(), request })
}

/** A dealer with one order, whose wallet is cached by the placer. */
async function openDealer(placer: OrderPlacer, creditLimit = 0): Promise<Dealer> {
  const dealer = await addDealer(node.deps, OPENING / 10_000)
  await change(`update wallets set credit_limit = ${creditLimit} where tenant_id = $1`, dealer)
  expect(balanceAfter(await place(placer, dealer, { transactionId: 'T-first' }))).toBe(OPENING - PRICE)
  return dealer
}

/** A dealer whose T-first was placed by another node. The placer has since placed an order, and has cached the wallet. */
async function openDealerElsewhere(placer: OrderPlacer): Promise<Dealer> {
  const dealer = await openDealer(createPlacer().placer)
  expect(balanceAfter(await place(placer, dealer))).toBe(OPENING - 2 * PRICE)
  return dealer
}

function balanceAfter(verdict: Verdict): number | string {
  if (verdict.kind === 'refused') return verdict.code
  return verdict.kind === 'placed' ? verdict.answer.balanceAfter : verdict.kind
}

/** Verifies the ledger. @returns the number of orders */
async function ordersIn({ tenantId }: Dealer): Promise<bigint> {
  const faults: string[] = []
  const { orders } = await verifyLedger(node.deps.db, { tenantId, onFault: (fault) => faults.push(fault.message) })
  expect(faults).toEqual([])
  return orders
}

const change = (text: string, { tenantId }: Dealer) => node.deps.db.query({ text, values: [tenantId] })

it('placing orders on cached wallets takes one statement, for one wallet or several', async () => {
  const { placer, statements } = createPlacer()
  const dealers = await Promise.all(Array.from({ length: 4 }, () => openDealer(placer)))
  statements.length = 0
  expect(balanceAfter(await place(placer, dealers[0]!))).toBe(OPENING - 2 * PRICE)
  expect(statements).toEqual([WRITES])

  const verdicts = await Promise.all([...dealers, ...dealers].map((dealer) => place(placer, dealer, { count: 2 })))
  expect(statements).toEqual([WRITES, WRITES])
  expect(verdicts.map(balanceAfter)).toEqual([2, 1, 1, 1, 4, 3, 3, 3].map((bought) => OPENING - (bought + 2) * PRICE))
  expect(await Promise.all(dealers.map(ordersIn))).toEqual([4n, 3n, 3n, 3n])
})

describe('a batch over many wallets', () => {
  const WALLETS = 40

  async function createBatchOfWallets() {
    const { placer, statements } = createPlacer()
    const dealers = await Promise.all(Array.from({ length: WALLETS }, () => openDealer(placer)))
    statements.length = 0
    return { placer, statements, dealers }
  }

  it('takes one statement per batch while all wallets match the cache', async () => {
    const { placer, statements, dealers } = await createBatchOfWallets()
    for (const bought of [2, 3]) {
      const verdicts = await Promise.all(dealers.map((dealer) => place(placer, dealer)))
      expect(new Set(verdicts.map(balanceAfter))).toEqual(new Set([OPENING - bought * PRICE]))
    }
    expect(statements).toEqual([WRITES, WRITES])
    expect(await Promise.all(dealers.map(ordersIn))).toEqual(dealers.map(() => 3n))
  })

  const more = ({ tenantId }: Dealer) => topUp(node.deps, { tenantId, amount: 5n, reference: 'more' }, SYSTEM)

  it.each<[string, (dealer: Dealer) => Promise<unknown>, Wanted, number | string, string[]]>([
    ['has moved', more, {}, OPENING - 2 * PRICE + 5, [WRITES, LOCKS]],
    ['cannot pay', async () => {}, { count: 1_000 }, '200007', [LOCKS]],
  ])('is read first if one wallet %s; the others place their orders', async (_, happens, wanted, expected, asks) => {
    const { placer, statements, dealers } = await createBatchOfWallets()
    const [odd, ...others] = dealers
    await happens(odd!)
    const verdicts = await Promise.all([place(placer, odd!, wanted), ...others.map((dealer) => place(placer, dealer))])
    expect(verdicts.map(balanceAfter)).toEqual([expected, ...others.map(() => OPENING - 2 * PRICE)])
    expect(statements.slice(0, asks.length)).toEqual(asks)
    expect(await Promise.all(others.map(ordersIn))).toEqual(others.map(() => 2n))
  })

  it('is read first if one order repeats another node’s order, and the others are still placed', async () => {
    const { placer, statements, dealers } = await createBatchOfWallets()
    const odd = await openDealerElsewhere(placer)
    statements.length = 0
    const repeated = place(placer, odd, { transactionId: 'T-first' })
    const verdicts = await Promise.all([repeated, ...dealers.map((dealer) => place(placer, dealer))])
    expect(verdicts.map(balanceAfter)).toEqual(['replayed', ...dealers.map(() => OPENING - 2 * PRICE)])
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    expect(await ordersIn(odd)).toBe(2n)

    statements.length = 0
    const next = await Promise.all(dealers.map((dealer) => place(placer, dealer)))
    expect(new Set(next.map(balanceAfter))).toEqual(new Set([OPENING - 3 * PRICE]))
    expect(statements).toEqual([WRITES])

    // A tenant that has repeated one order may repeat another, so for a second its orders are read first.
    statements.length = 0
    for (const bought of [3, 4]) expect(balanceAfter(await place(placer, odd))).toBe(OPENING - bought * PRICE)
    expect(statements.filter((name) => name === LOCKS)).toHaveLength(2)
  })
})

it('an order has the time in its id, and its debit never precedes an earlier one', async () => {
  const { placer } = createPlacer(() => -5_000)
  const dealer = await openDealer(placer)
  const verdict = await place(placer, dealer, { transactionId: 'T-1' })
  const [first, second] = await node.deps.db.query<{ orderId: string; debit: Date }>({
    text: `select order_id, o.created_at as order, t.created_at as debit, w.updated_at as wallet,
             (status_history -> 0 ->> 'time')::timestamptz as paid
           from orders o join transfers t using (tenant_id, order_id) join wallets w using (tenant_id)
           where tenant_id = $1 order by t.wallet_version`,
    values: [dealer.tenantId],
  })
  const createTime = new Date(timeOfUuid(second!.orderId))
  const debit = new Date(Math.max(+first!.debit, +second!.debit))
  expect(second).toMatchObject({ order: createTime, debit, paid: debit, wallet: debit })
  expect(verdict).toMatchObject({ answer: { createTime: createTime.toISOString() } })
})

describe('a change since the wallet was cached is detected:', () => {
  it.each<[string, (dealer: Dealer) => Promise<unknown>, number | string, Wanted?]>([
    [
      'a top-up',
      ({ tenantId }) => topUp(node.deps, { tenantId, amount: 5n, reference: 'more' }, SYSTEM),
      OPENING - 2 * PRICE + 5,
    ],
    ['an order of another node', (dealer) => place(createPlacer().placer, dealer), OPENING - 3 * PRICE],
    [
      'an order of another node that took the rest',
      async (dealer) => {
        for (let left = 2 * OPENING - PRICE; left >= PRICE; left -= 30 * PRICE) {
          await place(createPlacer().placer, dealer, { count: Math.min(30, Math.floor(left / PRICE)) })
        }
      },
      '200007',
    ],
    [
      'a credit limit that was lowered',
      (dealer) => change('update wallets set credit_limit = 0 where tenant_id = $1', dealer),
      '200007',
      { count: 30 },
    ],
    [
      'a daily spend limit',
      (dealer) => change('update wallets set daily_spend_limit = 45000 where tenant_id = $1', dealer),
      '200014',
    ],
    [
      'its own transactionId on another node',
      (dealer) => place(createPlacer().placer, dealer, { transactionId: 'T-2' }),
      'replayed',
      { transactionId: 'T-2' },
    ],
    [
      'its own transactionId on another node, with other content',
      (dealer) => place(createPlacer().placer, dealer, { transactionId: 'T-2' }),
      '200012',
      { transactionId: 'T-2', count: 2 },
    ],
  ])('%s', async (_, happens, expected, wanted) => {
    const { placer, statements } = createPlacer()
    const dealer = await openDealer(placer, OPENING)
    for (let times = 0; times < (wanted?.count === 30 ? 7 : 0); times++) await place(placer, dealer, { count: 30 })
    await happens(dealer)
    statements.length = 0
    expect(balanceAfter(await place(placer, dealer, wanted))).toBe(expected)
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    await ordersIn(dealer)
  })

  it.each<[Wanted, string]>([
    [{ transactionId: 'T-first' }, 'replayed'],
    [{ transactionId: 'T-first', count: 2 }, '200012'],
  ])('a repeat of another node’s order with an unchanged wallet: %o', async (wanted, expected) => {
    const { placer, statements } = createPlacer()
    const dealer = await openDealerElsewhere(placer)
    statements.length = 0
    expect(balanceAfter(await place(placer, dealer, wanted))).toBe(expected)
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    expect(await ordersIn(dealer)).toBe(2n)
  })

  it('a different price in the catalogue, and a package that is no longer on sale', async () => {
    const { db: general, ids } = node.deps
    const deps = { db: general, ids }
    const { placer } = createPlacer()
    const dealer = await openDealer(placer)
    const priced = (price: bigint) =>
      setListPrices(deps, [{ packageCode: 'JP_1_7', currencyCode: 'USD', price }], SYSTEM)
    await priced(50_000n)
    expect(balanceAfter(await place(placer, dealer))).toBe(OPENING - PRICE - 50_000)
    await setOnSale(deps, { packageCodes: ['JP_1_7'] }, false, SYSTEM)
    expect(balanceAfter(await place(placer, dealer))).toBe('310244')
    await setOnSale(deps, { packageCodes: ['JP_1_7'] }, true, SYSTEM)
    await priced(BigInt(PRICE))
    expect(await ordersIn(dealer)).toBe(2n)
  })

  it('a new day on the database clock, after which yesterday’s spending does not count', async () => {
    let aheadMs = 0
    const { placer, statements } = createPlacer(() => aheadMs)
    const dealer = await addDealer(node.deps, OPENING / 10_000)
    await change('update wallets set daily_spend_limit = 100000 where tenant_id = $1', dealer)
    for (const bought of [1, 2]) expect(balanceAfter(await place(placer, dealer))).toBe(OPENING - bought * PRICE)
    aheadMs = DAY_MS
    statements.length = 0
    expect(balanceAfter(await place(placer, dealer))).toBe('200014')
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
  })
})

describe('an order that this node has answered recently', () => {
  const READS_CONTEXT = 'orders-context'

  it('is looked up, without forcing a batch over other wallets to read first', async () => {
    const { placer, statements } = createPlacer()
    const dealers = await Promise.all(Array.from({ length: 20 }, () => openDealer(placer)))
    statements.length = 0
    const again = { transactionId: 'T-first' }
    const repeats = [place(placer, dealers[0]!, again), place(placer, dealers[1]!, { ...again, count: 2 })]
    const verdicts = await Promise.all([...repeats, ...dealers.map((dealer) => place(placer, dealer))])
    expect(verdicts.map(balanceAfter)).toEqual(['replayed', '200012', ...dealers.map(() => OPENING - 2 * PRICE)])
    expect(statements.sort()).toEqual([READS_CONTEXT, WRITES])
  })

  it('is also cached if another node placed the order and the answer was a conflict', async () => {
    const { placer, statements } = createPlacer()
    const dealer = await openDealerElsewhere(placer)
    const other = { transactionId: 'T-first', count: 2 }
    expect(balanceAfter(await place(placer, dealer, other))).toBe('200012')
    statements.length = 0
    expect(balanceAfter(await place(placer, dealer, other))).toBe('200012')
    expect(statements).toEqual([READS_CONTEXT])
  })

  it('does not wait for its wallet’s lock, and is answered with its current status', async () => {
    const { placer } = createPlacer()
    const dealer = await openDealer(placer)
    await node.deps.db.tx(async (tx) => {
      await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [dealer.tenantId] })
      await change(`update orders set order_status = 'ALLOCATING' where tenant_id = $1`, dealer)
      const answer = { transactionId: 'T-first', orderStatus: 'ALLOCATING', balanceAfter: OPENING - PRICE }
      const verdict = await place(placer, dealer, { transactionId: 'T-first' })
      expect(verdict).toMatchObject({ kind: 'replayed', answer })
    })
  })

  it('is found by placing it again if the lookup fails', async () => {
    const { placer, statements } = createPlacer(undefined, async () => {
      throw new Error('no connection')
    })
    const dealer = await openDealer(placer)
    expect(balanceAfter(await place(placer, dealer, { transactionId: 'T-first' }))).toBe('replayed')
    expect(statements.slice(-3)).toEqual([LOCKS, READS_CONTEXT, 'orders-restored'])
    expect(await ordersIn(dealer)).toBe(1n)
  })
})

describe('an order that waits for its cached wallet', () => {
  async function placedWhile(placer: OrderPlacer, dealer: Dealer, text: string): Promise<Verdict> {
    let waiting: Promise<Verdict> | undefined
    await node.deps.db.tx(async (tx) => {
      await tx.query({ text, values: [dealer.tenantId] })
      waiting = place(placer, dealer)
      await waitForBlockedStatements(node.deps.db)
    })
    return waiting!
  }

  it('is decided again if the wallet has changed meanwhile', async () => {
    const { placer, statements } = createPlacer()
    const dealer = await openDealer(placer)
    const text = 'update wallets set daily_spend_limit = 45000 where tenant_id = $1'
    statements.length = 0
    expect(balanceAfter(await placedWhile(placer, dealer, text))).toBe('200014')
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    expect(await ordersIn(dealer)).toBe(1n)
  })

  it.each([
    ['another transaction only read it', 'select from wallets where tenant_id = $1 for share'],
    ['its row was rewritten without a change', 'update wallets set credit_limit = credit_limit where tenant_id = $1'],
  ])('is placed in full when %s', async (_, text) => {
    const { placer } = createPlacer()
    const dealer = await openDealer(placer)
    expect(balanceAfter(await placedWhile(placer, dealer, text))).toBe(OPENING - 2 * PRICE)
    expect(await ordersIn(dealer)).toBe(2n)
  })

  it('is decided on the new catalogue if the catalogue changes while the order waits', async () => {
    const { db: general, ids } = node.deps
    const priced = (price: bigint) =>
      setListPrices({ db: general, ids }, [{ packageCode: 'JP_1_7', currencyCode: 'USD', price }], SYSTEM)
    const { placer, statements } = createPlacer()
    const dealer = await openDealer(placer)
    statements.length = 0
    let waiting: Promise<Verdict> | undefined
    await general.tx(async (tx) => {
      await tx.query({ text: 'select from wallets where tenant_id = $1 for share', values: [dealer.tenantId] })
      waiting = place(placer, dealer)
      await waitForBlockedStatements(general)
      await priced(50_000n)
      await waitForBlockedStatements(general, 1, LOCK_WAIT_MAX_MS + 1) // PostgreSQL rounds to whole milliseconds
    })
    expect(balanceAfter(await waiting!)).toBe(OPENING - PRICE - 50_000)
    expect(statements.slice(0, 2)).toEqual([WRITES, LOCKS])
    await priced(BigInt(PRICE))
    expect(await ordersIn(dealer)).toBe(2n)
  })
})
