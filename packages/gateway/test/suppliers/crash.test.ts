import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { importStock } from '../../src/suppliers/stock/import.ts'
import { createTestDatabase, type TestDatabase } from '../harness/database.ts'
import { type Es2plusServer, startEs2plusServer } from '../harness/es2plus-server.ts'
import { spawnFulfilment } from '../harness/fulfilment-process.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  openShop,
  payOrders,
  type Shop,
  statuses,
  until,
  walletOf,
} from '../harness/shop.ts'

/*
 * A worker dies at each named point; another takes over. Leases are made to run out at once, as time would.
 * A dead worker may leave a purchase in doubt: bought again is none of them, and none is lost.
 */
const POINTS = [
  'fulfilment.claimed',
  'fulfilment.before-attempt',
  'fulfilment.after-attempt',
  'fulfilment.before-call',
  'fulfilment.after-call',
  'fulfilment.outcome-half-written',
  'fulfilment.before-outcome-commit',
  'fulfilment.after-outcome',
]

const ES2PLUS_POINTS = [
  'es2plus.before-download-order',
  'es2plus.after-download-order',
  'es2plus.ordered',
  'es2plus.before-confirm-order',
  'es2plus.after-confirm-order',
  'es2plus.confirmed',
]

const ORDERS = 5

let database: TestDatabase
let shop: Shop
let smdp: Es2plusServer

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await openShop(database.url)
  smdp = await startEs2plusServer()
  const config = { url: smdp.url, functionRequesterIdentifier: '1.2.3', ...smdp.identity, giveUpAfterMs: 4_000 }
  await addSupplier(shop, 'shelf', 'stock', { giveUpAfter_ms: 60_000 })
  await addSupplier(shop, 'smdp', 'es2plus', config)
  const iccidRange = { first: makeIccid('8985222', 1), last: makeIccid('8985222', 9_999) }
  await addSupplier(shop, 'smdp-range', 'es2plus', { ...config, giveUpAfterMs: 60_000, iccidRange })
  await addPackage(shop.db, 'SANDBOX', [{ supplier: 'sandbox', productCode: 'ANY' }])
  await addPackage(shop.db, 'SANDBOX_REFUSED', [{ supplier: 'sandbox', productCode: 'SANDBOX_REFUSED' }])
  await addPackage(shop.db, 'STOCK', [{ supplier: 'shelf', productCode: 'P' }])
  await addPackage(shop.db, 'ES2PLUS', [{ supplier: 'smdp', productCode: 'TYPE' }])
  await addPackage(shop.db, 'ES2PLUS_RANGE', [{ supplier: 'smdp-range', productCode: 'TYPE' }])
  const rows = Array.from({ length: 500 }, (_, i) => `${makeIccid('8985444', i)},LPA:1$smdp.example.com$CRASH-${i}`)
  const file = Readable.from([`iccid,ac\n${rows.join('\n')}`])
  await importStock(shop, { supplier: 'shelf', productCode: 'P', file, actor: 'cli:test' })
})
afterAll(async () => {
  await smdp.close()
  await shop.close()
  await database.drop()
})

/** Counted at the suppliers. */
async function takenOf(packageCode: string): Promise<number> {
  if (packageCode.startsWith('ES2PLUS')) return smdp.taken().length
  const [row] = await shop.db.query<{ taken: number }>({
    text:
      packageCode === 'STOCK'
        ? `select count(*)::int as taken from stock_codes where state = 'RESERVED'`
        : `select count(*)::int as taken from sandbox_issued where answer = 'ISSUED'`,
  })
  return row!.taken
}

async function crashAt(point: string, packageCode: string) {
  const before = await takenOf(packageCode)
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, packageCode, { orders: ORDERS })
  const victim = spawnFulfilment(database.url, point)
  let stderr = ''
  victim.stderr!.on('data', (text) => (stderr += text))
  const ended = await victim.ended
  expect(ended, stderr).toEqual([null, 'SIGKILL'])
  expect(stderr).toContain(`paused at ${point}`)
  // As if half a minute had passed: the dead worker's leases run out.
  await shop.db.query({ text: `update orders set lease_until = now() where lease_until is not null` })
  const heir = spawnFulfilment(database.url)
  try {
    const seen = await until(async () => {
      const now = await statuses(shop.db, tenantId)
      return !now.PAID && !now.ALLOCATING && now
    }, 40_000)
    const [row] = await shop.db.query<{ delivered: number; review: number; refused: number }>({
      text: `select (select count(*)::int from profiles where tenant_id = $1) as delivered,
               (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REVIEW') as review,
               (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REFUSED') as refused`,
      values: [tenantId],
    })
    const wallet = await walletOf(shop.db, tenantId)
    expect(wallet.balance).toBe(wallet.sum)
    expect(wallet.refunds).toBe(row!.refused)
    return { ...row!, seen, taken: (await takenOf(packageCode)) - before }
  } finally {
    heir.kill('SIGKILL')
    await heir.ended
  }
}

/** Every point of every supplier takes minutes: the suite has ten for everything. SUPPLIER_TESTS=all runs them. */
const EVERYTHING = process.env.SUPPLIER_TESTS === 'all'

const BUYING: [packageCode: string, points: readonly string[]][] = [
  ['SANDBOX', [...POINTS, 'sandbox.issued']],
  ['STOCK', [...POINTS, 'stock.before-commit', 'stock.reserved']],
  ['ES2PLUS_RANGE', [...POINTS, ...ES2PLUS_POINTS]],
]

describe.runIf(EVERYTHING).each(BUYING)('a worker that dies while it buys for %s', (packageCode, points) => {
  it.each(points)('at %s: every eSIM is delivered, bought once', async (point) => {
    const { delivered, review, refused, taken } = await crashAt(point, packageCode)
    expect(refused).toBe(0)
    expect(taken).toBeLessThanOrEqual(ORDERS)
    expect(delivered).toBeLessThanOrEqual(taken)
    // ConfirmOrder without an answer cannot be repeated on a strict SM-DP+: then it is in question, never bought again.
    const mayStayInQuestion = point === 'es2plus.after-confirm-order' || point === 'es2plus.after-download-order'
    if (!mayStayInQuestion)
      expect({ delivered, review, taken }).toEqual({ delivered: ORDERS, review: 0, taken: ORDERS })
    expect(delivered + review).toBe(ORDERS)
  })
})

describe.runIf(EVERYTHING)('a worker that dies while it buys from an SM-DP+ that cannot be asked', () => {
  it.each(['fulfilment.after-attempt', 'es2plus.after-download-order', 'es2plus.ordered'])(
    'at %s: nothing is bought twice, what is not known is in question',
    async (point) => {
      const { delivered, review, refused, taken } = await crashAt(point, 'ES2PLUS')
      expect(refused).toBe(0)
      expect(taken).toBeLessThanOrEqual(ORDERS)
      expect(delivered + review).toBe(ORDERS)
      expect(taken - delivered).toBeLessThanOrEqual(review)
    },
  )
})

describe.runIf(EVERYTHING)('a worker that dies while it refunds', () => {
  it.each(['fulfilment.outcome-half-written', 'fulfilment.before-outcome-commit', 'fulfilment.after-outcome'])(
    'at %s: every eSIM is refunded once',
    async (point) => {
      const { refused, delivered } = await crashAt(point, 'SANDBOX_REFUSED')
      expect({ refused, delivered }).toEqual({ refused: ORDERS, delivered: 0 })
    },
  )
})
