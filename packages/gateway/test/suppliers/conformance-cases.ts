import { orderNoOf } from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Outcome, SupplierRequest } from '@dealer-esim/wholesalers/supplier.ts'
import { expect } from 'vitest'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { askAboutWatched } from '#fulfilment/reconciliation/ask-watched.ts'
import { cancelOrphans } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { addTenant, payOrders, type Shop, shortenWaits, statuses, waitUntil, walletOf } from '../harness/shop.ts'
import type { SupplierFixture } from './supplier-fixtures.ts'

/* Runs the purchases of the conformance suite, and counts their eSIMs at the supplier and in our records. */

export const ORDERS = 3
export const COUNT = 2
/** eSIM Go buys the eSIMs of a bundle one at a time, so late answers add up. On a busy machine they take minutes. */
export const WAIT_MAX_MS = 240_000

/** A node that has the fixtures as its suppliers. Each sells its own package, named after it. */
export interface Conformance {
  shop: Shop
  fixtures: ReadonlyMap<string, SupplierFixture>
}

interface OurRecords {
  delivered: string[]
  review: number
  refused: number
  orphans: string[]
}

export interface CaseResult extends OurRecords {
  fixture: SupplierFixture
  /** How many eSIMs were ordered. */
  all: number
  tenantId: string
  statusCounts: Record<string, number>
  /** The ICCIDs that the supplier counts as sold, before and after orphans were cancelled. */
  sold: string[]
  soldAtEnd: string[]
}

/** Purchases in doubt are queried again after 1 s, 2 s, and then at least this often. */
const RETRY_WAIT_MAX_MS = 2_500

export async function untilFinal(shop: Shop, tenantId: string) {
  const look = async () => {
    const now = await statuses(shop.db, tenantId)
    if (!now.PAID && !now.ALLOCATING) return now
    await shortenWaits(shop, tenantId, RETRY_WAIT_MAX_MS)
  }
  // Forty cases poll concurrently: polling seldom leaves the database to the workers.
  return waitUntil(look, WAIT_MAX_MS, 500)
}

/** None was returned to the pool, or made, in time. */
const NO_CONNECTION = /timeout exceeded when trying to connect|terminated due to connection timeout/

/** Waits on for a connection where a busy machine has none free in time. Without one, nothing was executed. */
export function withPatience(db: Shop['db']): Shop['db'] {
  async function retried<Result>(run: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await run()
      } catch (error) {
        if (!NO_CONNECTION.test(String(error))) throw error
      }
    }
  }
  return Object.assign(Object.create(db) as Shop['db'], {
    query: <Row>(...parts: Parameters<Shop['db']['query']>) => retried(() => db.query<Row>(...parts)),
    tx: <Result>(work: (tx: Tx) => Promise<Result>) => retried(() => db.tx(work)),
  })
}

export async function runCase(
  { shop, fixtures }: Conformance,
  key: string,
  fault: SupplierFixture['fault'],
  size = { orders: ORDERS, count: COUNT },
): Promise<CaseResult> {
  const fixture = fixtures.get(key)!
  fixture.fault = fault
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, key, size)
  const statusCounts = await untilFinal(shop, tenantId)
  const all = size.orders * size.count
  return { fixture, all, tenantId, statusCounts, ...(await countRecords(shop, fixture, tenantId)) }
}

/** The supplier's answer arrives a second time after the first one was accepted. */
export async function runTwice(conformance: Conformance, key: string): Promise<CaseResult> {
  const { shop } = conformance
  const first = await runCase(conformance, key, 'none', { orders: 1, count: 1 })
  const { tenantId, fixture } = first
  const [order] = await shop.db.query<{ orderId: string }>({
    text: 'select order_id from orders where tenant_id = $1',
    values: [tenantId],
  })
  const item = { tenantId, orderId: order!.orderId, itemNo: 1, productCode: fixture.product }
  const again = await ask(fixture, { ...item, key: `${orderNoOf(item.orderId)}-1` })
  if (again.kind !== 'delivered') throw new Error(`it answered ${again.kind}, having delivered`)
  await acceptEsim(shop, tenantId, { ...item, supplier: key }, again.esim)
  return { ...first, ...(await countRecords(shop, fixture, tenantId)) }
}

/**
 * Queries a purchase until the supplier answers: a busy machine sends some queries too late for the rate limit, or not at
 * all.
 */
export async function ask({ supplier }: SupplierFixture, request: SupplierRequest): Promise<Outcome> {
  return waitUntil(
    async () => {
      const [outcome] = await supplier.query([request], 'RESUME')
      return outcome!.kind === 'unknown' ? undefined : outcome
    },
    WAIT_MAX_MS,
    500,
  )
}

/** The answer is lost and queries fail, so the order goes to review, but only once it has been carried out. */
export async function runToReview(conformance: Conformance, key: string): Promise<CaseResult> {
  const fixture = conformance.fixtures.get(key)!
  fixture.ignoresQueries = true
  reviewOnce(fixture, async () => (await fixture.listSold()).length === 1)
  const result = await runCase(conformance, key, 'lost', { orders: 1, count: 1 })
  expect(result.statusCounts).toEqual({ UNDER_REVIEW: 1 })
  await refuseInReview(conformance.shop, result.tenantId)
  Object.assign(fixture, { fault: 'none', ignoresQueries: false })
  const statusCounts = await statuses(conformance.shop.db, result.tenantId)
  return { ...result, statusCounts, sold: await fixture.listSold() }
}

/** Sends what is undecided to review as soon as `isDone`: on a busy machine nothing may be bought for a long time. */
export function reviewOnce({ supplier: { traits } }: SupplierFixture, isDone: () => Promise<boolean>): void {
  void waitUntil(isDone, WAIT_MAX_MS, 200).then(
    () => Object.assign(traits, { giveUpAfterMs: REVIEW_AFTER_MS }),
    () => {}, // then the case fails
  )
}

const REVIEW_AFTER_MS = 8_000

/** The operator resolves the orders under review as refused. */
export async function refuseInReview(shop: Shop, tenantId: string): Promise<void> {
  const orders = await shop.db.query<{ orderId: string }>({
    text: `select order_id from orders where tenant_id = $1 and order_status = 'UNDER_REVIEW'`,
    values: [tenantId],
  })
  for (const { orderId } of orders) {
    const evidence = 'Ticket 4711: according to the supplier, nothing was sold'
    await resolveOrder(shop, { tenantId, orderId, verdict: { kind: 'refused' }, evidence }, { actor: 'cli:test' })
  }
}

/**
 * Lets reconciliation find the eSIMs that were refunded while in doubt but do exist, and cancel them. A pass claims only some
 * of them, and on a busy machine answers may be missing: what these suppliers can answer is asked until it is found.
 */
export async function findRefunded(shop: Shop, suppliers: readonly string[]): Promise<void> {
  await untilNone(
    () => shop.db.query({ text: 'select from watched_items where supplier = any($1)', values: [suppliers] }),
    async () => {
      await shop.db.query({ text: 'update watched_items set due_at = now()' })
      while ((await askAboutWatched(shop)) > 0);
    },
  )
  await untilNone(
    () => shop.db.query({ text: `select from orphans where state = 'FOUND'` }),
    async () => {
      await shop.db.query({ text: `update orphans set updated_at = now() where state = 'FOUND'` })
      while ((await cancelOrphans(shop)) > 0);
    },
  )
}

/** Repeats `pass` until nothing is left, or it is too late: then a case fails by what it has not found. */
async function untilNone(left: () => Promise<unknown[]>, pass: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + WAIT_MAX_MS
  do await pass()
  while ((await left()).length > 0 && performance.now() < deadline)
}

/** The case with our records as they are now. */
export async function countAgain(shop: Shop, one: CaseResult): Promise<CaseResult> {
  return { ...one, ...(await countRecords(shop, one.fixture, one.tenantId)), sold: one.sold }
}

async function countRecords(
  shop: Shop,
  fixture: SupplierFixture,
  tenantId: string,
): Promise<OurRecords & Pick<CaseResult, 'sold' | 'soldAtEnd'>> {
  const [row] = await shop.db.query<OurRecords>({
    text: `select
        (select coalesce(array_agg(iccid), '{}') from profiles where tenant_id = $1) as delivered,
        (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REVIEW') as review,
        (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REFUSED') as refused,
        (select coalesce(array_agg(iccid), '{}') from orphans where tenant_id = $1) as orphans`,
    values: [tenantId],
  })
  const soldAtEnd = await fixture.listSold()
  return { ...row!, sold: soldAtEnd, soldAtEnd }
}

/** Every eSIM that the supplier counts as sold is delivered, under review or an orphan. */
export async function expectRecordsToAgree(
  shop: Shop,
  { tenantId, sold, delivered, orphans, review, refused }: CaseResult,
): Promise<void> {
  for (const iccid of delivered) expect(sold).toContain(iccid)
  const elsewhere = sold.filter((iccid) => !delivered.includes(iccid) && !orphans.includes(iccid))
  expect(elsewhere.length).toBeLessThanOrEqual(review)
  expect(new Set(sold).size).toBe(sold.length)
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
