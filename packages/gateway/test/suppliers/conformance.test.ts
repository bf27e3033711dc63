import { makeIccid, orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '../../src/fulfilment/loop.ts'
import { acceptEsim } from '../../src/fulfilment/outcomes/save-outcomes.ts'
import { askAboutWatched } from '../../src/fulfilment/reconciliation/ask-watched.ts'
import { cancelOrphans } from '../../src/fulfilment/reconciliation/cancel-orphans.ts'
import { resolveOrder } from '../../src/fulfilment/review/resolve-order.ts'
import type { Loop } from '../../src/lib/process/lifecycle.ts'
import { itemKeyOf } from '../../src/orders/item.ts'
import { gate } from '../../src/suppliers/gate.ts'
import type { Supplied, Suppliers } from '../../src/suppliers/registry.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import {
  addPackage,
  addTenant,
  createShop,
  payOrders,
  type Shop,
  statuses,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'
import { es2plusKind, gatewayKind, type Stage, type StageKind, sandboxKind, stockKind } from './supplier-stages.ts'

/*
 * Every kind of supplier passes the same suite. Most of its time is waiting: for a time-out, for the end of a doubt, for
 * a deadline. So every case has a supplier, a dealer and a breaker of its own, all are played at once, and each test
 * looks at its case when that has settled.
 */
const KINDS: [name: string, open: (shop: Shop) => Promise<StageKind>][] = [
  ['sandbox', sandboxKind],
  ['stock', stockKind],
  ['es2plus with ICCIDs of ours', (shop) => es2plusKind(shop, true)],
  ['es2plus with ICCIDs of the SM-DP+', (shop) => es2plusKind(shop, false)],
  ['gateway', gatewayKind],
]

const CASES = ['none', 'refuse', 'half', 'late', 'lost', 'dies', 'twice', 'refunded'] as const
type Case = (typeof CASES)[number]

const ORDERS = 3
const COUNT = 2
const ALL = ORDERS * COUNT
/** Only what is late has a short time-out: a crowded machine must not make the others late. */
const TIMEOUTS_MS: Partial<Record<Case, number>> = { late: 2_000, lost: 5_000, dies: 5_000, refunded: 5_000 }
const TIMEOUT_MS = 10_000
const PATIENCE_MS = 60_000

interface Ours {
  delivered: string[]
  review: number
  refused: number
  orphans: string[]
}

interface Played extends Ours {
  stage: Stage
  tenantId: string
  seen: Record<string, number>
  /** ICCIDs, counted at the supplier; `left` when everything was done. */
  taken: string[]
  left: string[]
}

let database: TestDatabase
let shop: Shop
let own: Shop
let loop: Loop
const kinds: StageKind[] = []
const stages = new Map<string, Stage>()
const played = new Map<string, Promise<Played>>()

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  const supplied = new Map<string, Supplied>()
  kinds.push(...(await Promise.all(KINDS.map(([, open]) => open(shop)))))
  for (const [index, kind] of kinds.entries()) {
    for (const name of CASES) {
      const key = `${index}-${name}`
      const stage = await kind.stage(key, TIMEOUTS_MS[name] ?? TIMEOUT_MS)
      stages.set(key, stage)
      supplied.set(key, { supplier: stage.supplier, gate: gate(stage.supplier.traits, shop.clock), paused: false })
      await addPackage(shop.db, key, [{ supplier: key, productCode: stage.product }])
    }
  }
  const suppliers: Suppliers = {
    get: (name) => supplied.get(name),
    all: () => [...supplied.values()],
    refresh: async () => {},
  }
  own = { ...shop, suppliers: suppliers as Shop['suppliers'] }
  loop = fulfilmentLoop(own)
  for (const key of stages.keys()) {
    const name = key.slice(2) as Case
    if (name !== 'refunded') played.set(key, name === 'twice' ? playTwice(key) : play(key, name))
  }
  const refunded = playRefunded(KINDS.map((_, index) => `${index}-refunded`))
  for (const [index] of KINDS.entries())
    played.set(
      `${index}-refunded`,
      refunded.then((all) => all[index]!),
    )
  for (const one of played.values()) one.catch(() => {}) // told by its own test
})
afterAll(async () => {
  await loop?.stop(10_000)
  await Promise.all([...stages.values()].map((stage) => stage.close()))
  await Promise.all(kinds.map((kind) => kind.close()))
  await shop.close()
  await database.drop()
})

async function settled(tenantId: string) {
  return waitUntil(
    async () => {
      const now = await statuses(shop.db, tenantId)
      return !now.PAID && !now.ALLOCATING && now
    },
    PATIENCE_MS,
    500,
  ) // forty wait at once: the database is for those who work
}

async function play(key: string, fault: Stage['fault'], size = { orders: ORDERS, count: COUNT }): Promise<Played> {
  const stage = stages.get(key)!
  stage.fault = fault
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, key, size)
  const seen = await settled(tenantId)
  return { stage, tenantId, seen, ...(await countOf(stage, tenantId)) }
}

/** The supplier's answer comes a second time, after the first was taken in. */
async function playTwice(key: string): Promise<Played> {
  const first = await play(key, 'none', { orders: 1, count: 1 })
  const { tenantId, stage } = first
  const [order] = await shop.db.query<{ orderId: string }>({
    text: 'select order_id from orders where tenant_id = $1',
    values: [tenantId],
  })
  const item = { tenantId, orderId: order!.orderId, itemNo: 1, productCode: stage.product }
  const [again] = await stage.supplier.query([{ ...item, key: `${orderNoOf(item.orderId)}-1` }], 'RESUME')
  if (again?.kind !== 'delivered') throw new Error(`it answered ${again?.kind}, having delivered`)
  await acceptEsim(own, tenantId, { ...item, supplier: key }, again.esim)
  return { ...first, ...(await countOf(stage, tenantId)) }
}

/** The answer is lost and nobody can be asked; the operator settles on the supplier's word; then it turns out to exist. */
async function playRefunded(keys: string[]): Promise<Played[]> {
  const review = await Promise.all(
    keys.map(async (key) => {
      const stage = stages.get(key)!
      stage.mute = true
      stage.supplier.traits.giveUpAfterMs = 8_000
      const { tenantId, seen } = await play(key, 'lost', { orders: 1, count: 1 })
      expect(seen).toEqual({ UNDER_REVIEW: 1 })
      const [order] = await shop.db.query<{ orderId: string }>({
        text: 'select order_id from orders where tenant_id = $1',
        values: [tenantId],
      })
      const evidence = 'Ticket 4711: the supplier says that it sold nothing'
      const verdict = { kind: 'refused' } as const
      await resolveOrder(own, { tenantId, orderId: order!.orderId, verdict, evidence }, { actor: 'cli:test' })
      Object.assign(stage, { fault: 'none', mute: false })
      return { tenantId, stage, seen: await statuses(shop.db, tenantId), taken: await stage.taken() }
    }),
  )
  await shop.db.query({ text: 'update watched_items set due_at = now()' })
  await askAboutWatched(own)
  await cancelOrphans(own)
  return Promise.all(
    review.map(async (one) => ({ ...one, ...(await countOf(one.stage, one.tenantId)), taken: one.taken })),
  )
}

async function countOf(stage: Stage, tenantId: string): Promise<Ours & Pick<Played, 'taken' | 'left'>> {
  const [row] = await shop.db.query<Ours>({
    text: `select
        (select coalesce(array_agg(iccid), '{}') from profiles where tenant_id = $1) as delivered,
        (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REVIEW') as review,
        (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REFUSED') as refused,
        (select coalesce(array_agg(iccid), '{}') from orphans where tenant_id = $1) as orphans`,
    values: [tenantId],
  })
  const left = await stage.taken()
  return { ...row!, taken: left, left }
}

/** Counted at the supplier: what was taken is delivered, known to be in question, or an orphan. Nothing else. */
async function booksAgree({ tenantId, taken, delivered, orphans, review, refused }: Played): Promise<void> {
  for (const iccid of delivered) expect(taken).toContain(iccid)
  const elsewhere = taken.filter((iccid) => !delivered.includes(iccid) && !orphans.includes(iccid))
  expect(elsewhere.length).toBeLessThanOrEqual(review)
  expect(new Set(taken).size).toBe(taken.length)
  expect(new Set(delivered).size).toBe(delivered.length)
  const both = await shop.db.query({
    text: `select from transfers t join profiles p
             on p.tenant_id = t.tenant_id and p.order_id = t.order_id and p.item_no = t.item_no
           where t.tenant_id = $1 and t.kind = 'REFUND'`,
    values: [tenantId],
  })
  expect(both).toEqual([])
  const wallet = await walletOf(shop.db, tenantId)
  expect(wallet.refunds).toBe(refused)
  expect(wallet.balance).toBe(wallet.sum)
}

describe.each(KINDS.map(([name], index) => ({ name, index })))('$name', ({ index }) => {
  async function outcome(name: Case): Promise<Played> {
    const one = await played.get(`${index}-${name}`)!
    await booksAgree(one)
    return one
  }

  it('delivers all of them', async () => {
    const { seen, delivered, taken } = await outcome('none')
    expect(seen).toEqual({ DELIVERED: ORDERS })
    expect(delivered).toHaveLength(ALL)
    expect(taken).toHaveLength(ALL)
  })

  it('refuses: nothing is taken, everything is refunded', async () => {
    const { seen, refused, taken } = await outcome('refuse')
    expect(seen).toEqual({ FAILED: ORDERS })
    expect(refused).toBe(ALL)
    expect(taken).toEqual([])
  })

  it('delivers half and refuses half', async () => {
    const { delivered, refused, taken } = await outcome('half')
    expect(delivered).toHaveLength(ALL / 2)
    expect(taken).toHaveLength(ALL / 2)
    expect(refused).toBe(ALL / 2)
  })

  it('answers after our time-out: nothing is bought twice, nothing refunded', async () => {
    const { stage, delivered, review, refused, taken } = await outcome('late')
    expect(refused).toBe(0)
    expect(taken).toHaveLength(ALL)
    expect(delivered.length + review).toBe(ALL)
    if (stage.canTell) expect(delivered).toHaveLength(ALL)
  })

  it('loses the answer after doing the work: what can be asked about is delivered, the rest is in question', async () => {
    const { stage, delivered, review, refused, taken } = await outcome('lost')
    expect(refused).toBe(0)
    expect(taken).toHaveLength(ALL)
    expect(stage.canTell ? delivered.length : review).toBe(ALL)
  })

  it('dies in the middle: what was bought comes, what was not is bought then, once', async () => {
    const { stage, delivered, review, refused, taken } = await outcome('dies')
    expect(refused).toBe(0)
    expect(stage.canTell ? delivered.length : review).toBe(ALL)
    expect(taken).toHaveLength(stage.canTell ? ALL : ALL / 2)
  })

  it('answers twice: the second answer changes nothing', async () => {
    const { seen, delivered, orphans, taken } = await outcome('twice')
    expect(seen).toEqual({ DELIVERED: 1 })
    expect([delivered.length, orphans.length, taken.length]).toEqual([1, 0, 1])
  })

  it('cancels the eSIM that is named, and not another that was sold under its key', async () => {
    const { stage, tenantId, delivered, taken } = await outcome('twice')
    const [order] = await shop.db.query<{ orderId: string }>({
      text: 'select order_id from orders where tenant_id = $1',
      values: [tenantId],
    })
    const item = { tenantId, orderId: order!.orderId, itemNo: 1, productCode: stage.product }
    const named = { iccid: makeIccid('8985444', index), matchingId: 'ANOTHER', shown: false }
    expect(delivered).not.toContain(named.iccid)
    const { kind } = await stage.supplier.cancel({ ...item, key: itemKeyOf(item.orderId, 1), ...named })
    expect(kind).not.toBe('cancelled')
    expect(await stage.taken()).toEqual(taken)
  })

  it('delivers after we refunded: an orphan, never shown, given back where it can be', async () => {
    const { stage, seen, delivered, refused, orphans, taken, left } = await played.get(`${index}-refunded`)!
    expect(seen).toEqual({ FAILED: 1 })
    expect([delivered.length, refused, taken.length]).toEqual([0, 1, 1])
    // Of an eSIM whose ICCID was never told nobody hears again: the supplier's word was wrong, and only it can find out.
    if (!stage.canTell) return expect(orphans).toEqual([])
    await outcome('refunded')
    expect(orphans).toEqual(taken)
    expect(left).toHaveLength(stage.canCancel ? 0 : 1)
  })
})
