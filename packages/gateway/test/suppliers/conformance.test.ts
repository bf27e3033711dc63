import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '../../src/fulfilment/loop.ts'
import { askAboutWatched, cancelOrphans, learnOutcome } from '../../src/fulfilment/reconcile.ts'
import { settleOrder } from '../../src/fulfilment/settle.ts'
import { orderNoOf } from '../../src/lib/ids.ts'
import type { Loop } from '../../src/lib/lifecycle.ts'
import { gate } from '../../src/suppliers/gate.ts'
import type { Suppliers } from '../../src/suppliers/registry.ts'
import { createTestDatabase, type TestDatabase } from '../harness/database.ts'
import { addPackage, addTenant, openShop, payOrders, type Shop, statuses, until, walletOf } from '../harness/shop.ts'
import { es2plusStage, gatewayStage, type Stage, sandboxStage, stockStage } from '../harness/stages.ts'

/** Every kind of supplier passes the same suite. */
const STAGES: [name: string, open: (shop: Shop) => Promise<Stage>][] = [
  ['sandbox', sandboxStage],
  ['stock', stockStage],
  ['es2plus with ICCIDs of ours', (shop) => es2plusStage(shop, true)],
  ['es2plus with ICCIDs of the SM-DP+', (shop) => es2plusStage(shop, false)],
  ['gateway', gatewayStage],
]

const ORDERS = 6
const COUNT = 2

/** The four together take minutes: the suite has ten for everything. SUPPLIER_TESTS=all runs them. */
const CHOSEN = process.env.SUPPLIER_TESTS === 'all' ? STAGES : STAGES.slice(0, 2)

describe.each(CHOSEN)('%s', (_, open) => {
  let database: TestDatabase
  let shop: Shop
  let stage: Stage
  let loop: Loop | undefined

  beforeAll(async () => {
    database = await createTestDatabase()
    shop = await openShop(database.url)
    stage = await open(shop)
    await addPackage(shop.db, 'PACKAGE', [{ supplier: stage.supplier.name, productCode: stage.product }])
  })
  afterEach(async () => {
    await loop?.stop(10_000)
    loop = undefined
    stage.fault = 'none'
    stage.mute = false
  })
  afterAll(async () => {
    await stage?.close()
    await shop.close()
    await database.drop()
  })

  /** Our side knows this supplier alone, with its test's time-outs. */
  function run(): Shop {
    const supplied = { supplier: stage.supplier, gate: gate(stage.supplier.traits, shop.clock), paused: false }
    const suppliers: Suppliers = { get: () => supplied, all: () => [supplied], refresh: async () => {} }
    const own = { ...shop, suppliers: suppliers as Shop['suppliers'] }
    loop = fulfilmentLoop(own)
    return own
  }

  async function settled(tenantId: string) {
    return until(async () => {
      const now = await statuses(shop.db, tenantId)
      return !now.PAID && !now.ALLOCATING && now
    }, 50_000)
  }

  interface Ours {
    delivered: string[]
    review: number
    refused: number
    orphans: string[]
  }

  async function ours(tenantId: string): Promise<Ours> {
    const [row] = await shop.db.query<Ours>({
      text: `select
          (select coalesce(array_agg(iccid), '{}') from profiles where tenant_id = $1) as delivered,
          (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REVIEW') as review,
          (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REFUSED') as refused,
          (select coalesce(array_agg(iccid), '{}') from orphans where tenant_id = $1) as orphans`,
      values: [tenantId],
    })
    return row!
  }

  /** Counted at the supplier: what was taken is delivered, known to be in question, or an orphan. Nothing else. */
  async function booksAgree(tenantId: string, before: string[]): Promise<Ours & { taken: string[] }> {
    const taken = (await stage.taken()).filter((iccid) => !before.includes(iccid))
    const own = await ours(tenantId)
    for (const iccid of own.delivered) expect(taken).toContain(iccid)
    const elsewhere = taken.filter((iccid) => !own.delivered.includes(iccid) && !own.orphans.includes(iccid))
    expect(elsewhere.length).toBeLessThanOrEqual(own.review)
    expect(new Set(own.delivered).size).toBe(own.delivered.length)
    const both = await shop.db.query({
      text: `select from transfers t join profiles p
               on p.tenant_id = t.tenant_id and p.order_id = t.order_id and p.item_no = t.item_no
             where t.tenant_id = $1 and t.kind = 'REFUND'`,
      values: [tenantId],
    })
    expect(both).toEqual([])
    const wallet = await walletOf(shop.db, tenantId)
    expect(wallet.refunds).toBe(own.refused)
    expect(wallet.balance).toBe(wallet.sum)
    return { ...own, taken }
  }

  async function play(fault: Stage['fault']) {
    const before = await stage.taken()
    stage.fault = fault
    const tenantId = await addTenant(shop.db)
    await payOrders(shop.db, tenantId, 'PACKAGE', { orders: ORDERS, count: COUNT })
    run()
    const seen = await settled(tenantId)
    return { tenantId, seen, ...(await booksAgree(tenantId, before)) }
  }

  it('delivers all of them', async () => {
    const { seen, delivered, taken } = await play('none')
    expect(seen).toEqual({ DELIVERED: ORDERS })
    expect(delivered).toHaveLength(ORDERS * COUNT)
    expect(taken).toHaveLength(ORDERS * COUNT)
  })

  it('refuses: nothing is taken, everything is refunded', async () => {
    const { seen, refused, taken } = await play('refuse')
    expect(seen).toEqual({ FAILED: ORDERS })
    expect(refused).toBe(ORDERS * COUNT)
    expect(taken).toEqual([])
  })

  it('delivers half and refuses half', async () => {
    const { delivered, refused, taken } = await play('half')
    expect(delivered.length).toBe(taken.length)
    expect(delivered.length + refused).toBe(ORDERS * COUNT)
    expect(delivered.length).toBe((ORDERS * COUNT) / 2)
  })

  it('answers after our time-out: nothing is bought twice, nothing refunded', async () => {
    const { delivered, review, refused, taken } = await play('late')
    expect(refused).toBe(0)
    expect(taken).toHaveLength(ORDERS * COUNT)
    expect(delivered.length + review).toBe(ORDERS * COUNT)
    if (stage.canTell) expect(delivered).toHaveLength(ORDERS * COUNT)
  })

  it('loses the answer after doing the work: what can be asked about is delivered, the rest is in question', async () => {
    const { delivered, review, refused, taken } = await play('lost')
    expect(refused).toBe(0)
    expect(taken).toHaveLength(ORDERS * COUNT)
    expect(stage.canTell ? delivered.length : review).toBe(ORDERS * COUNT)
  })

  it('dies in the middle: nothing is refunded that was bought', async () => {
    const { tenantId, seen } = await play('dies')
    stage.fault = 'none'
    expect(seen.FAILED ?? 0).toBe(0)
    expect((await ours(tenantId)).refused).toBe(0)
  })

  it('answers twice: the second answer changes nothing', async () => {
    const before = await stage.taken()
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'PACKAGE')
    const own = run()
    await settled(tenantId)
    const item = { tenantId, orderId: orderId!, itemNo: 1, productCode: stage.product }
    const [again] = await stage.supplier.query([{ ...item, key: `${orderNoOf(orderId!)}-1` }])
    if (again?.kind === 'delivered') await learnOutcome(own, own.suppliers.get('')!, item, again)
    const { delivered, orphans, taken } = await booksAgree(tenantId, before)
    expect([delivered.length, orphans.length, taken.length]).toEqual([1, 0, 1])
  })

  it('delivers after we refunded: an orphan, never shown, given back where it can be', async () => {
    if (!stage.canTell) return // nobody would ever hear of it
    const before = await stage.taken()
    Object.assign(stage, { fault: 'lost', mute: true })
    const { giveUpAfter_ms } = stage.supplier.traits
    stage.supplier.traits.giveUpAfter_ms = 3_000
    const tenantId = await addTenant(shop.db)
    const [orderId] = await payOrders(shop.db, tenantId, 'PACKAGE')
    const own = run()
    expect(await settled(tenantId)).toEqual({ UNDER_REVIEW: 1 })
    const evidence = 'Ticket 4711: the supplier says that it sold nothing'
    await settleOrder(own, { tenantId, orderId: orderId!, verdict: { kind: 'refused' }, evidence, actor: 'cli:test' })
    expect(await statuses(shop.db, tenantId)).toEqual({ FAILED: 1 })
    Object.assign(stage, { fault: 'none', mute: false })
    stage.supplier.traits.giveUpAfter_ms = giveUpAfter_ms
    await shop.db.query({ text: 'update watched_items set ask_at = now()' })
    await askAboutWatched(own)
    const { delivered, orphans, taken } = await booksAgree(tenantId, before)
    expect(delivered).toEqual([])
    expect(orphans).toEqual(taken)
    expect(orphans).toHaveLength(1)
    await cancelOrphans(own)
    const left = (await stage.taken()).filter((iccid) => !before.includes(iccid))
    expect(left).toHaveLength(stage.canCancel ? 0 : 1)
    expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
  })
})
