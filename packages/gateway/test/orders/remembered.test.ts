import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '../../src/audit/audit.ts'
import { seedDemoCatalogue } from '../../src/catalogue/demo/seed.ts'
import { setListPrices } from '../../src/catalogue/prices.ts'
import { setOnSale } from '../../src/catalogue/put.ts'
import { createDb, type Db } from '../../src/lib/postgres/db.ts'
import type { Verdict } from '../../src/orders/decide.ts'
import { createOrderPlacer, type OrderPlacer } from '../../src/orders/placer.ts'
import { topUp } from '../../src/wallet/top-up.ts'
import { verifyLedger } from '../../src/wallet/verify.ts'
import { addDealer, type Dealer, type Node, openNode } from '../door/node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/database.ts'
import { waitForBlockedStatements } from '../harness/statements.ts'

/*
 * A node judges an order on the wallet as its latest order left it, without reading anything. Whatever has changed since
 * must be noticed under the wallet's lock, and the order judged anew.
 */

const PRICE = 45_000
const OPENING = 10_000_000
const DAY_MS = 86_400_000
const LOOKS = 'wallets-lock'
const WRITES_ONE = 'orders-write-one-if-unchanged'
/** Of orders/write.sql.ts: a statement that waited so long for its wallet believes nothing that it saw before. */
const LONGEST_WAIT_MS = 50

let database: TestDatabase
let node: Node
let db: Db & { close(): Promise<void> }

beforeAll(async () => {
  database = await createTestDatabase()
  node = await openNode(database.url)
  await seedDemoCatalogue(node.deps)
  db = createDb({ url: database.url, poolSize: 4, applicationName: 'orders under test', genericPlans: true })
})
afterAll(async () => {
  await db.close()
  await node.stop()
  await database.drop()
})

/** A desk of its own, as on another node, and the statements that it asks. */
function openDesk(aheadMs = () => 0, query: Db['query'] = db.query) {
  const { clock, databaseClock, ids, catalogue } = node.deps
  const asked: string[] = []
  const listening: Db = {
    ...db,
    tx: (work) =>
      db.tx((tx) =>
        work({
          ...tx,
          query(statement) {
            asked.push(statement.name!)
            return tx.query(statement)
          },
        }),
      ),
    query(statement) {
      asked.push(statement.name!)
      return query(statement)
    },
  }
  const desk = createOrderPlacer({
    ...{ db: listening, clock, ids, catalogue, stock: { available: () => undefined } },
    databaseClock: { now: () => databaseClock.now() + aheadMs() },
    maintainPartitions: async () => {},
    onPlaced() {},
    onFailure(failure) {
      throw failure
    },
  })
  return { desk, asked }
}

interface Wanted {
  transactionId?: string
  count?: number
}

function place(desk: OrderPlacer, { tenantId }: Dealer, { transactionId = randomUUID(), count = 1 }: Wanted = {}) {
  const request = { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count }] }
  return desk.place({ tenant: { tenantId, currencyCode: 'USD' }, orderId: node.deps.ids.uuid(), request })
}

/** A dealer with an order whose wallet the desk remembers. */
async function openDealer(desk: OrderPlacer, creditLimit = 0): Promise<Dealer> {
  const dealer = await addDealer(node.deps, OPENING / 10_000)
  await change(`update wallets set credit_limit = ${creditLimit} where tenant_id = $1`, dealer)
  expect(balanceAfter(await place(desk, dealer, { transactionId: 'T-first' }))).toBe(OPENING - PRICE)
  return dealer
}

/** A dealer whose T-first was placed by another node. The desk has placed another one since, and remembers the wallet. */
async function openDealerElsewhere(desk: OrderPlacer): Promise<Dealer> {
  const dealer = await openDealer(openDesk().desk)
  expect(balanceAfter(await place(desk, dealer))).toBe(OPENING - 2 * PRICE)
  return dealer
}

function balanceAfter(verdict: Verdict): number | string {
  if (verdict.kind === 'refused') return verdict.code
  return verdict.kind === 'placed' ? verdict.answer.balanceAfter : verdict.kind
}

/** That every row agrees with every other. @returns how many orders there are */
async function ordersIn({ tenantId }: Dealer): Promise<bigint> {
  const faults: string[] = []
  const { orders } = await verifyLedger(node.deps.db, { tenantId, onFault: (fault) => faults.push(fault.sentence) })
  expect(faults).toEqual([])
  return orders
}

const change = (text: string, { tenantId }: Dealer) => node.deps.db.query({ text, values: [tenantId] })

it('is one statement, for one order and for several of several wallets', async () => {
  const { desk, asked } = openDesk()
  const dealers = await Promise.all(Array.from({ length: 4 }, () => openDealer(desk)))
  asked.length = 0
  expect(balanceAfter(await place(desk, dealers[0]!))).toBe(OPENING - 2 * PRICE)
  expect(asked).toEqual([WRITES_ONE])

  const verdicts = await Promise.all([...dealers, ...dealers].map((dealer) => place(desk, dealer, { count: 2 })))
  expect(asked).toEqual([WRITES_ONE, 'orders-write-if-unchanged'])
  expect(verdicts.map(balanceAfter)).toEqual([2, 1, 1, 1, 4, 3, 3, 3].map((bought) => OPENING - (bought + 2) * PRICE))
  expect(await Promise.all(dealers.map(ordersIn))).toEqual([4n, 3n, 3n, 3n])
})

describe('a crowd of many wallets', () => {
  const WALLETS = 40
  const CROWD_WRITES = 'orders-write-if-unchanged'

  async function openCrowd() {
    const { desk, asked } = openDesk()
    const dealers = await Promise.all(Array.from({ length: WALLETS }, () => openDealer(desk)))
    asked.length = 0
    return { desk, asked, dealers }
  }

  it('is one statement while all are as remembered, batch after batch', async () => {
    const { desk, asked, dealers } = await openCrowd()
    for (const bought of [2, 3]) {
      const verdicts = await Promise.all(dealers.map((dealer) => place(desk, dealer)))
      expect(new Set(verdicts.map(balanceAfter))).toEqual(new Set([OPENING - bought * PRICE]))
    }
    expect(asked).toEqual([CROWD_WRITES, CROWD_WRITES])
    expect(await Promise.all(dealers.map(ordersIn))).toEqual(dealers.map(() => 3n))
  })

  const more = ({ tenantId }: Dealer) => topUp(node.deps, { tenantId, amount: 5n, reference: 'more' }, SYSTEM)

  it.each<[string, (dealer: Dealer) => Promise<unknown>, Wanted, number | string, string[]]>([
    ['has moved', more, {}, OPENING - 2 * PRICE + 5, [CROWD_WRITES, LOOKS]],
    ['cannot pay', async () => {}, { count: 1_000 }, '200007', [LOOKS]],
  ])('reads where one of them %s, and places the others', async (_, happens, wanted, expected, asks) => {
    const { desk, asked, dealers } = await openCrowd()
    const [odd, ...others] = dealers
    await happens(odd!)
    const verdicts = await Promise.all([place(desk, odd!, wanted), ...others.map((dealer) => place(desk, dealer))])
    expect(verdicts.map(balanceAfter)).toEqual([expected, ...others.map(() => OPENING - 2 * PRICE)])
    expect(asked.slice(0, asks.length)).toEqual(asks)
    expect(await Promise.all(others.map(ordersIn))).toEqual(others.map(() => 2n))
  })

  it("reads where one of them repeats another node's order, and places the others", async () => {
    const { desk, asked, dealers } = await openCrowd()
    const odd = await openDealerElsewhere(desk)
    asked.length = 0
    const repeated = place(desk, odd, { transactionId: 'T-first' })
    const verdicts = await Promise.all([repeated, ...dealers.map((dealer) => place(desk, dealer))])
    expect(verdicts.map(balanceAfter)).toEqual(['replayed', ...dealers.map(() => OPENING - 2 * PRICE)])
    expect(asked.slice(0, 2)).toEqual([CROWD_WRITES, LOOKS])
    expect(await ordersIn(odd)).toBe(2n)

    asked.length = 0
    const next = await Promise.all(dealers.map((dealer) => place(desk, dealer)))
    expect(new Set(next.map(balanceAfter))).toEqual(new Set([OPENING - 3 * PRICE]))
    expect(asked).toEqual([CROWD_WRITES])

    // Who repeated one may repeat another: its orders are read for a second.
    asked.length = 0
    for (const bought of [3, 4]) expect(balanceAfter(await place(desk, odd))).toBe(OPENING - bought * PRICE)
    expect(asked.filter((name) => name === LOOKS)).toHaveLength(2)
  })
})

it('tells the time that stands in its rows, and never one before an earlier order', async () => {
  const { desk } = openDesk(() => -5_000)
  const dealer = await openDealer(desk)
  const verdict = await place(desk, dealer, { transactionId: 'T-1' })
  const rows = await node.deps.db.query<{ order: Date; debit: Date; wallet: Date }>({
    text: `select o.created_at as order, t.created_at as debit, w.updated_at as wallet
           from orders o join transfers t using (tenant_id, order_id) join wallets w using (tenant_id)
           where tenant_id = $1 order by t.wallet_version`,
    values: [dealer.tenantId],
  })
  const [first, second] = rows
  expect(second!.debit).toEqual(second!.order)
  expect(second!.wallet).toEqual(second!.order)
  expect(second!.order.getTime()).toBeGreaterThanOrEqual(first!.order.getTime())
  expect(verdict).toMatchObject({ answer: { createTime: second!.order.toISOString() } })
})

describe('what has changed since is noticed:', () => {
  it.each<[string, (dealer: Dealer) => Promise<unknown>, number | string, Wanted?]>([
    [
      'a top-up',
      ({ tenantId }) => topUp(node.deps, { tenantId, amount: 5n, reference: 'more' }, SYSTEM),
      OPENING - 2 * PRICE + 5,
    ],
    ['an order of another node', (dealer) => place(openDesk().desk, dealer), OPENING - 3 * PRICE],
    [
      'an order of another node that took the rest',
      async (dealer) => {
        for (let left = 2 * OPENING - PRICE; left >= PRICE; left -= 30 * PRICE) {
          await place(openDesk().desk, dealer, { count: Math.min(30, Math.floor(left / PRICE)) })
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
      (dealer) => place(openDesk().desk, dealer, { transactionId: 'T-2' }),
      'replayed',
      { transactionId: 'T-2' },
    ],
    [
      'its own transactionId on another node, with other content',
      (dealer) => place(openDesk().desk, dealer, { transactionId: 'T-2' }),
      '200012',
      { transactionId: 'T-2', count: 2 },
    ],
  ])('%s', async (_, happens, expected, wanted) => {
    const { desk, asked } = openDesk()
    const dealer = await openDealer(desk, OPENING)
    for (let times = 0; times < (wanted?.count === 30 ? 7 : 0); times++) await place(desk, dealer, { count: 30 })
    await happens(dealer)
    asked.length = 0
    expect(balanceAfter(await place(desk, dealer, wanted))).toBe(expected)
    expect(asked.slice(0, 2)).toEqual([WRITES_ONE, LOOKS])
    await ordersIn(dealer)
  })

  it.each<[Wanted, string]>([
    [{ transactionId: 'T-first' }, 'replayed'],
    [{ transactionId: 'T-first', count: 2 }, '200012'],
  ])('nothing: %o repeats an order of another node, though its wallet has not moved', async (wanted, expected) => {
    const { desk, asked } = openDesk()
    const dealer = await openDealerElsewhere(desk)
    asked.length = 0
    expect(balanceAfter(await place(desk, dealer, wanted))).toBe(expected)
    expect(asked.slice(0, 2)).toEqual([WRITES_ONE, LOOKS])
    expect(await ordersIn(dealer)).toBe(2n)
  })

  it('the catalogue: another price, and a package that is sold no more', async () => {
    const { db: general, ids } = node.deps
    const deps = { db: general, ids }
    const { desk } = openDesk()
    const dealer = await openDealer(desk)
    const priced = (price: bigint) =>
      setListPrices(deps, [{ packageCode: 'JP_1_7', currencyCode: 'USD', price }], SYSTEM)
    await priced(50_000n)
    expect(balanceAfter(await place(desk, dealer))).toBe(OPENING - PRICE - 50_000)
    await setOnSale(deps, { packageCodes: ['JP_1_7'] }, false, SYSTEM)
    expect(balanceAfter(await place(desk, dealer))).toBe('310244')
    await setOnSale(deps, { packageCodes: ['JP_1_7'] }, true, SYSTEM)
    await priced(BigInt(PRICE))
    expect(await ordersIn(dealer)).toBe(2n)
  })

  it('the day, by the database: what was spent yesterday does not count', async () => {
    let aheadMs = 0
    const { desk, asked } = openDesk(() => aheadMs)
    const dealer = await addDealer(node.deps, OPENING / 10_000)
    await change('update wallets set daily_spend_limit = 100000 where tenant_id = $1', dealer)
    for (const bought of [1, 2]) expect(balanceAfter(await place(desk, dealer))).toBe(OPENING - bought * PRICE)
    aheadMs = DAY_MS
    asked.length = 0
    expect(balanceAfter(await place(desk, dealer))).toBe('200014')
    expect(asked.slice(0, 2)).toEqual([WRITES_ONE, LOOKS])
  })
})

describe('an order that this node has answered before', () => {
  const LOOKS_UP = 'orders-around'

  it('is looked up, and sends no crowd of other wallets to reading', async () => {
    const { desk, asked } = openDesk()
    const dealers = await Promise.all(Array.from({ length: 20 }, () => openDealer(desk)))
    asked.length = 0
    const again = { transactionId: 'T-first' }
    const repeats = [place(desk, dealers[0]!, again), place(desk, dealers[1]!, { ...again, count: 2 })]
    const verdicts = await Promise.all([...repeats, ...dealers.map((dealer) => place(desk, dealer))])
    expect(verdicts.map(balanceAfter)).toEqual(['replayed', '200012', ...dealers.map(() => OPENING - 2 * PRICE)])
    expect(asked.sort()).toEqual([LOOKS_UP, 'orders-write-if-unchanged'])
  })

  it('is known also where another node placed it and the answer was a conflict', async () => {
    const { desk, asked } = openDesk()
    const dealer = await openDealerElsewhere(desk)
    const other = { transactionId: 'T-first', count: 2 }
    expect(balanceAfter(await place(desk, dealer, other))).toBe('200012')
    asked.length = 0
    expect(balanceAfter(await place(desk, dealer, other))).toBe('200012')
    expect(asked).toEqual([LOOKS_UP])
  })

  it('waits for nobody who holds its wallet, and is told as it is now', async () => {
    const { desk } = openDesk()
    const dealer = await openDealer(desk)
    await node.deps.db.tx(async (tx) => {
      await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [dealer.tenantId] })
      await change(`update orders set order_status = 'ALLOCATING' where tenant_id = $1`, dealer)
      const answer = { transactionId: 'T-first', orderStatus: 'ALLOCATING', balanceAfter: OPENING - PRICE }
      const verdict = await place(desk, dealer, { transactionId: 'T-first' })
      expect(verdict).toMatchObject({ kind: 'replayed', answer })
    })
  })

  it('is found by who would place it, where it cannot be looked up', async () => {
    const { desk, asked } = openDesk(undefined, async () => {
      throw new Error('no connection')
    })
    const dealer = await openDealer(desk)
    expect(balanceAfter(await place(desk, dealer, { transactionId: 'T-first' }))).toBe('replayed')
    expect(asked.slice(-2)).toEqual([LOOKS, LOOKS_UP])
    expect(await ordersIn(dealer)).toBe(1n)
  })
})

describe('an order that waits for its remembered wallet', () => {
  async function placedWhile(desk: OrderPlacer, dealer: Dealer, text: string): Promise<Verdict> {
    let waiting: Promise<Verdict> | undefined
    await node.deps.db.tx(async (tx) => {
      await tx.query({ text, values: [dealer.tenantId] })
      waiting = place(desk, dealer)
      await waitForBlockedStatements(node.deps.db)
    })
    return waiting!
  }

  it('is judged anew when it has changed', async () => {
    const { desk, asked } = openDesk()
    const dealer = await openDealer(desk)
    const text = 'update wallets set daily_spend_limit = 45000 where tenant_id = $1'
    asked.length = 0
    expect(balanceAfter(await placedWhile(desk, dealer, text))).toBe('200014')
    expect(asked.slice(0, 2)).toEqual([WRITES_ONE, LOOKS])
    expect(await ordersIn(dealer)).toBe(1n)
  })

  it.each([
    ['somebody only looked', 'select from wallets where tenant_id = $1 for share'],
    ['its row was written again as it was', 'update wallets set credit_limit = credit_limit where tenant_id = $1'],
  ])('is placed whole when %s', async (_, text) => {
    const { desk } = openDesk()
    const dealer = await openDealer(desk)
    expect(balanceAfter(await placedWhile(desk, dealer, text))).toBe(OPENING - 2 * PRICE)
    expect(await ordersIn(dealer)).toBe(2n)
  })

  it('is judged by a catalogue that changed while it waited', async () => {
    const { db: general, ids } = node.deps
    const priced = (price: bigint) =>
      setListPrices({ db: general, ids }, [{ packageCode: 'JP_1_7', currencyCode: 'USD', price }], SYSTEM)
    const { desk, asked } = openDesk()
    const dealer = await openDealer(desk)
    asked.length = 0
    let waiting: Promise<Verdict> | undefined
    await general.tx(async (tx) => {
      await tx.query({ text: 'select from wallets where tenant_id = $1 for share', values: [dealer.tenantId] })
      waiting = place(desk, dealer)
      await waitForBlockedStatements(general)
      await priced(50_000n)
      await waitForBlockedStatements(general, 1, LONGEST_WAIT_MS + 1) // it counts whole ones
    })
    expect(balanceAfter(await waiting!)).toBe(OPENING - PRICE - 50_000)
    expect(asked.slice(0, 2)).toEqual([WRITES_ONE, LOOKS])
    await priced(BigInt(PRICE))
    expect(await ordersIn(dealer)).toBe(2n)
  })
})
