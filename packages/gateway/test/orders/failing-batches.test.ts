import { randomUUID } from 'node:crypto'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { seedDemoCatalogue } from '#catalogue/demo/seed-catalogue.ts'
import type { Verdict } from '#orders/placing/decide-order.ts'
import type { OrderInput } from '#orders/placing/order-input.ts'
import { createOrderPlacer, type OrderPlacer, type OrderPlacerDeps } from '#orders/placing/order-placer.ts'
import { addDealer, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type PostgresProxy, startPostgresProxy } from '../harness/databases/database-proxies.ts'
import { runOnNode } from '../harness/databases/tables.ts'

const APPLICATION = 'orders under test'
const PRICE = 45_000
const OPENING = 10_000_000

let database: TestDatabase
let node: Node
let proxy: PostgresProxy
let db: Db & { close(): Promise<void> }
let dealer: Dealer
let failures: unknown[]
let placedBefore = 0
let leftAfterFailure: number | undefined

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  await seedDemoCatalogue(node.deps)
  proxy = await startPostgresProxy(database.url)
  db = createDb({ url: proxy.url, poolSize: 4, applicationName: APPLICATION, genericPlans: true, lockTimeoutMs: 500 })
})
afterAll(async () => {
  await db.close()
  await proxy.close()
  await node.stop()
  await database.drop()
})
afterEach(async () => {
  await node.deps.db.query({ text: 'drop trigger if exists misfortune on orders' })
  proxy.setClosed(false)
})

/** @param isCached the wallet is cached, because the node has placed an order of the dealer */
async function createPlacer(
  isCached: boolean,
  clock: OrderPlacerDeps['clock'] = node.deps.clock,
): Promise<OrderPlacer> {
  dealer = await addDealer(node.deps, OPENING / 10_000)
  placedBefore = isCached ? 1 : 0
  failures = []
  leftAfterFailure = undefined
  const { ids, catalogue } = node.deps
  const placer = createOrderPlacer({
    ...{
      db,
      clock,
      databaseClock: node.deps.databaseClock,
      ids,
      catalogue,
      stock: { available: () => (failures.length > 0 ? leftAfterFailure : undefined) },
      suppliers: { get: () => undefined },
      maintainPartitions: async () => {},
      wake: { wake() {} },
    },
    log: { warn: ({ err }: { err: unknown }) => void failures.push(err) },
  })
  for (let placed = 0; placed < placedBefore; placed++) await place(placer)
  return placer
}

function place(
  placer: OrderPlacer,
  transactionId: string = randomUUID(),
  { remark, ...more }: { remark?: string } & Pick<OrderInput, 'receivedAt'> = {},
  { tenantId }: Pick<Dealer, 'tenantId'> = dealer,
): Promise<Verdict> {
  const request = {
    transactionId,
    packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }],
    ...(remark ? { remark } : {}),
  }
  return placer.place({ tenant: { tenantId, currencyCode: 'USD' }, orderId: node.deps.ids.uuid(), request, ...more })
}

/** Runs `work` while another transaction locks the dealer's wallet. */
function whileLocked<Result>({ tenantId }: Pick<Dealer, 'tenantId'>, work: () => Promise<Result>): Promise<Result> {
  return node.deps.db.tx(async (tx) => {
    await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [tenantId] })
    return work()
  })
}

/** Counts the test's orders and checks that the wallet was debited exactly once for each. */
async function orders(): Promise<number> {
  const [row] = await node.deps.db.query<{ orders: number; debits: number; balance: number }>({
    text: `select (select count(*)::int from orders where tenant_id = $1) as orders,
                  (select count(*)::int from transfers where tenant_id = $1 and kind = 'ORDER') as debits,
                  (select balance::int from wallets where tenant_id = $1) as balance`,
    values: [dealer.tenantId],
  })
  expect(row).toMatchObject({ debits: row!.orders, balance: OPENING - row!.orders * PRICE })
  return row!.orders - placedBefore
}

/** Creates a trigger that runs `body` for every inserted order. */
async function misfortune(body: string): Promise<void> {
  await node.deps.db.query({
    text: `create or replace function misfortune() returns trigger language plpgsql as $$ begin ${body} return new; end $$`,
  })
  await node.deps.db.query({
    text: 'create trigger misfortune before insert on orders for each row execute function misfortune()',
  })
}

const kinds = (verdicts: Verdict[]) =>
  verdicts.map((verdict) => (verdict.kind === 'refused' ? verdict.code : verdict.kind))

describe.each([
  { wallet: 'that is not cached', isCached: false },
  { wallet: 'that is cached', isCached: true },
])('on a wallet $wallet, a batch', ({ isCached }) => {
  describe('whose COMMIT', () => {
    it('never reached the database is placed once, by another attempt', async () => {
      const placer = await createPlacer(isCached)
      proxy.failCommits(APPLICATION, 'lost')
      const verdicts = await Promise.all(Array.from({ length: 5 }, () => place(placer)))
      expect(kinds(verdicts)).toEqual(Array(5).fill('placed'))
      expect(failures).toHaveLength(1)
      expect(await orders()).toBe(5)
    })

    it('succeeded without an answer is recognised by its ids and not replayed', async () => {
      const placer = await createPlacer(isCached)
      proxy.failCommits(APPLICATION, 'unanswered')
      const verdicts = await Promise.all(Array.from({ length: 5 }, () => place(placer)))
      expect(kinds(verdicts)).toEqual(Array(5).fill('placed'))
      expect(failures).toHaveLength(1)
      expect(await orders()).toBe(5)
    })

    it('is unanswered several times still debits once', async () => {
      const placer = await createPlacer(isCached)
      proxy.failCommits(APPLICATION, 'lost', 'unanswered', 'lost', 'lost', 'unanswered')
      const verdicts = await Promise.all(Array.from({ length: 20 }, () => place(placer)))
      expect(kinds(verdicts)).toEqual(Array(20).fill('placed'))
      expect(await orders()).toBe(20)
      proxy.failCommits(APPLICATION) // unused failures do not matter, because replays commit too
    })

    it('is unanswered is not refused for stock that has since run out', async () => {
      const placer = await createPlacer(isCached)
      leftAfterFailure = 0
      proxy.failCommits(APPLICATION, 'lost')
      expect(kinds([await place(placer)])).toEqual(['placed'])
      expect(await orders()).toBe(1)
    })

    it('stays unanswered without a database is answered with 000001, and a repeat shows the outcome', async () => {
      // A clock on which the fifteen seconds in doubt pass in one second.
      const fast = { now: () => node.deps.clock.now(), monotonic: () => performance.now() * 15 }
      const placer = await createPlacer(isCached, fast)
      const before = proxy.faultCount
      proxy.failCommits(APPLICATION, 'unanswered')
      const placing = place(placer, 'T-doubt')
      while (proxy.faultCount === before) await new Promise(setImmediate)
      proxy.setClosed(true)
      expect(kinds([await placing])).toEqual(['000001'])
      proxy.setClosed(false)
      expect(await orders()).toBe(1)
      expect(kinds([await place(placer, 'T-doubt')])).toEqual(['replayed'])
      expect(await orders()).toBe(1)
    })
  })

  describe('that certainly failed', () => {
    it('because the database was already away is refused with 000002 and has no effect', async () => {
      const placer = await createPlacer(isCached)
      proxy.setClosed(true)
      // A COMMIT that was written to a connection is in doubt, even if the server was already gone.
      while (db.pool.idleCount > 0) await new Promise(setImmediate)
      expect(kinds([await place(placer, 'T-away')])).toEqual(['000002'])
      proxy.setClosed(false)
      expect(await orders()).toBe(0)
      expect(kinds([await place(placer, 'T-away')])).toEqual(['placed'])
    })

    it.each(['28P01', '28000', '3D000', '53300'])(
      'because the database accepts no connection (%s) is refused with 000002 and has no effect',
      async (sqlState) => {
        const placer = await createPlacer(isCached)
        proxy.setClosed(true)
        while (db.pool.totalCount > 0) await new Promise(setImmediate)
        proxy.setClosed(false)
        proxy.refuse(sqlState)
        expect(kinds([await place(placer, 'T-refused')])).toEqual(['000002'])
        proxy.refuse(undefined)
        expect(await orders()).toBe(0)
        expect(kinds([await place(placer, 'T-refused')])).toEqual(['placed'])
      },
    )

    it('because of a deadlock is retried', async () => {
      const placer = await createPlacer(isCached)
      await runOnNode(node.deps.db, 'create sequence if not exists public.unlucky')
      await runOnNode(node.deps.db, 'alter sequence public.unlucky restart')
      // A sequence is not rolled back, so only the first attempt fails.
      await misfortune(
        `if nextval('public.unlucky') = 1 then raise exception 'deadlock' using errcode = '40P01'; end if;`,
      )
      expect(kinds([await place(placer)])).toEqual(['placed'])
      expect(failures).toHaveLength(1)
      expect(await orders()).toBe(1)
    })

    it('because of a lock that is held too long is refused with 000002, and succeeds after its release', async () => {
      const placer = await createPlacer(isCached)
      expect(kinds([await whileLocked(dealer, () => place(placer, 'T-locked'))])).toEqual(['000002'])
      expect(await orders()).toBe(0)
      expect(kinds([await place(placer, 'T-locked')])).toEqual(['placed'])
    })

    it('because of a lock that is held too long is not split, because its orders share that lock', async () => {
      const placer = await createPlacer(isCached)
      const many = () => Promise.all(Array.from({ length: 20 }, () => place(placer)))
      expect(kinds(await whileLocked(dealer, many))).toEqual(Array(20).fill('000002'))
      expect(failures).toHaveLength(3)
      expect(await orders()).toBe(0)
    })

    it('because of one dealer’s lock still places the orders of other dealers', async () => {
      const placer = await createPlacer(isCached)
      const others = await Promise.all(Array.from({ length: 5 }, () => addDealer(node.deps)))
      const all = [...others.slice(0, 2), dealer, dealer, ...others.slice(2)]
      const placing = () => Promise.all(all.map((each) => place(placer, randomUUID(), {}, each)))
      expect(kinds(await whileLocked(dealer, placing))).toEqual(
        all.map((each) => (each === dealer ? '000002' : 'placed')),
      )
      expect(failures).toHaveLength(1 + 3)
      expect(await orders()).toBe(0)
    })

    it('because of one poisoned order fails for that order only', async () => {
      const placer = await createPlacer(isCached)
      await misfortune(`if new.remark = 'poison' then raise exception 'poisoned'; end if;`)
      const verdicts = await Promise.all(
        Array.from({ length: 16 }, (_, index) =>
          place(placer, `T-${index}`, { remark: index === 5 ? 'poison' : 'fine' }),
        ),
      )
      expect(kinds(verdicts)).toEqual(Array.from({ length: 16 }, (_, index) => (index === 5 ? '000001' : 'placed')))
      expect(await orders()).toBe(15)
    })
  })
})

it('an order that times out while it waits for its turn is refused without an attempt', async () => {
  const placer = await createPlacer(true)
  const { clock } = node.deps
  const late = place(placer, 'T-late', { receivedAt: clock.monotonic() - 7_000 })
  const inTime = place(placer, 'T-in-time', { receivedAt: clock.monotonic() - 5_000 })
  expect(kinds(await Promise.all([late, inTime]))).toEqual(['000002', 'placed'])
  expect(await orders()).toBe(1)
  expect(failures).toEqual([])
})
