import type {
  Outcome,
  QueryPurpose,
  Supplier,
  SupplierRequest,
  TopUpRequest,
} from '@dealer-esim/wholesalers/supplier.ts'
import { expect } from 'vitest'
import { acceptFound } from '#fulfilment/outcomes/save-outcomes.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { payTopUps, type Shop, statuses, walletOf } from '../harness/shop.ts'
import { ask, type Conformance, refuseInReview, reviewOnce, runCase, untilFinal } from './conformance-cases.ts'
import type { SupplierFixture } from './supplier-fixtures.ts'

/* Runs the top-ups of the conformance suite: eSIMs are bought first, then each is topped up once while a fault is active. */

export const TOP_UPS = 2

export interface TopUpResult {
  fixture: SupplierFixture
  tenantId: string
  /** The statuses of the top-ups only. */
  statusCounts: Record<string, number>
  /** Top-ups that the supplier has carried out, with any key. */
  added: number
  /** Counted in our records. */
  delivered: number
  review: number
  refused: number
  orphans: number
  /** Why the items were not delivered. */
  reasons: string[]
  /** The total volume of the eSIMs, in multiples of the package's volume. */
  volumes: number
}

/** The top-up package of the fixture with this key. */
export function topUpPackageOf(key: string): string {
  return `${key}-topup`
}

/** @param begin called once the eSIMs are delivered, before their top-ups */
export async function runTopUps(
  conformance: Conformance,
  key: string,
  fault: SupplierFixture['fault'],
  begin = () => {},
): Promise<TopUpResult> {
  const { shop } = conformance
  const { fixture, tenantId, statusCounts } = await runCase(conformance, key, 'none', { orders: TOP_UPS, count: 1 })
  expect(statusCounts).toEqual({ DELIVERED: TOP_UPS })
  fixture.fault = fault
  begin()
  await payTopUps(shop.db, tenantId, topUpPackageOf(key))
  shop.wake.wake('fulfilment')
  await untilFinal(shop, tenantId)
  return countTopUps(shop, fixture, tenantId)
}

/**
 * The top-ups are carried out, but neither the answers that say so nor those of queries arrive. The operator resolves them
 * as refused.
 */
export async function runTopUpsToReview(conformance: Conformance, key: string): Promise<TopUpResult> {
  const fixture = conformance.fixtures.get(key)!
  const { supplier } = fixture
  const { topUp, query } = supplier
  // On a busy machine a call may not have topped up anything: then it is not the answer that is lost.
  const lose = (outcome: Outcome): Outcome =>
    outcome.kind === 'toppedUp' ? { kind: 'unknown', message: 'the answer was lost' } : outcome
  const result = await runTopUps(conformance, key, 'none', () => {
    reviewOnce(fixture, async () => (await fixture.countTopUps!()) === TOP_UPS)
    Object.assign(supplier, {
      topUp: async (requests: TopUpRequest[]) => (await topUp!(requests)).map(lose),
      query: async (requests: SupplierRequest[], purpose: QueryPurpose) => (await query(requests, purpose)).map(lose),
    })
  })
  expect(result.statusCounts).toEqual({ UNDER_REVIEW: TOP_UPS })
  await refuseInReview(conformance.shop, result.tenantId)
  Object.assign(supplier, { topUp, query })
  return result
}

/** The supplier accepts the top-ups with a reference, and reports only later that they have been carried out. */
export async function runPendingTopUps(conformance: Conformance, key: string): Promise<TopUpResult> {
  const { supplier } = conformance.fixtures.get(key)!
  const { topUp, query } = supplier
  const accepted = new Map<string, { own: string | undefined; given: string; isQueried: boolean }>()
  const pendingOf = ({ key }: SupplierRequest): Outcome => {
    const reference = accepted.get(key)!.given
    return { kind: 'ordered', message: 'accepted and not carried out yet', reference }
  }
  const withoutReference: string[] = []
  const pending: Partial<Supplier> = {
    async topUp(requests: TopUpRequest[]): Promise<Outcome[]> {
      const outcomes = await topUp!(requests)
      return outcomes.map((outcome, index) => {
        const request = requests[index]!
        if (outcome.kind !== 'toppedUp') return outcome
        const own = outcome.reference
        accepted.set(request.key, { own, given: own ?? `REFERENCE-${request.key}`, isQueried: false })
        return pendingOf(request)
      })
    },
    async query(requests: SupplierRequest[], purpose: QueryPurpose): Promise<Outcome[]> {
      const known = requests.flatMap(({ key }) => accepted.get(key) ?? [])
      // A top-up without an answer, on a busy machine.
      if (known.length < requests.length) return query(requests, purpose)
      withoutReference.push(...requests.flatMap(({ key, reference }) => (reference ? [] : key)))
      const isDecided = known.every(({ isQueried }) => isQueried)
      for (const one of known) one.isQueried = true
      if (!isDecided) return requests.map(pendingOf)
      return query(
        requests.map((request, index) => ({ ...request, reference: known[index]!.own })),
        purpose,
      )
    },
  }
  const result = await runTopUps(conformance, key, 'none', () => void Object.assign(supplier, pending))
  expect(withoutReference).toEqual([])
  Object.assign(supplier, { topUp, query })
  return result
}

/** The supplier's answers arrive a second time after the first ones were accepted. */
export async function repeatTopUps(shop: Shop, { fixture, tenantId }: TopUpResult): Promise<TopUpResult> {
  for (const request of await requestsOf(shop, tenantId, fixture)) {
    const again = await ask(fixture, request)
    expect(again.kind).toBe('toppedUp')
    const item = { orderId: request.orderId, itemNo: request.itemNo, supplier: fixture.supplier.name }
    expect(await acceptFound(shop, tenantId, item, again)).toBe(true)
  }
  return countTopUps(shop, fixture, tenantId)
}

interface ToppedUpRow {
  orderId: string
  esimOrderId: string
  iccid: string
  reference: string | null
  esimReference: string | null
}

async function requestsOf(shop: Shop, tenantId: string, { topUpProduct }: SupplierFixture): Promise<SupplierRequest[]> {
  const rows = await shop.db.query<ToppedUpRow>({
    text: `select o.order_id, p.order_id as esim_order_id, p.iccid, a.reference,
             (select d.reference from supplier_attempts d
              where d.tenant_id = p.tenant_id and d.order_id = p.order_id and d.outcome = 'delivered') as esim_reference
           from orders o join profiles p on p.tenant_id = o.tenant_id and p.profile_id = o.topped_up_profile_id
           join supplier_attempts a on a.tenant_id = o.tenant_id and a.order_id = o.order_id and a.outcome = 'toppedUp'
           where o.tenant_id = $1`,
    values: [tenantId],
  })
  return rows.map(({ orderId, esimOrderId, iccid, reference, esimReference }) => ({
    ...{ tenantId, orderId, itemNo: 1, key: itemKeyOf(orderId, 1), productCode: topUpProduct! },
    reference: reference ?? undefined,
    topUp: { key: itemKeyOf(esimOrderId, 1), reference: esimReference ?? undefined, iccid, matchingId: '' },
  }))
}

export async function countTopUps(shop: Shop, fixture: SupplierFixture, tenantId: string): Promise<TopUpResult> {
  const [row] = await shop.db.query<Omit<TopUpResult, 'fixture' | 'tenantId' | 'statusCounts' | 'added'>>({
    text: `with items as (
             select i.item_status, i.failure_reason from order_items i join orders o using (tenant_id, order_id)
             where i.tenant_id = $1 and o.order_type = 'TOPUP')
           select (select count(*)::int from items where item_status = 'DELIVERED') as delivered,
             (select count(*)::int from items where item_status = 'REVIEW') as review,
             (select count(*)::int from items where item_status = 'REFUSED') as refused,
             (select count(*)::int from orphans where tenant_id = $1 and state = 'KEPT') as orphans,
             (select coalesce(array_agg(distinct failure_reason) filter (where failure_reason is not null), '{}')
              from items) as reasons,
             (select (sum(total_volume) / 1000000000)::int from profiles where tenant_id = $1) as volumes`,
    values: [tenantId],
  })
  const rows = await shop.db.query<{ orderStatus: string; count: number }>({
    text: `select order_status, count(*)::int as count from orders
           where tenant_id = $1 and order_type = 'TOPUP' group by 1`,
    values: [tenantId],
  })
  const statusCounts = Object.fromEntries(rows.map(({ orderStatus, count }) => [orderStatus, count]))
  return { ...row!, fixture, tenantId, statusCounts, added: (await fixture.countTopUps?.()) ?? 0 }
}

/** Every top-up that the supplier carried out is delivered, under review or kept aside; each refusal is refunded once. */
export async function expectTopUpsToAgree(shop: Shop, result: TopUpResult): Promise<void> {
  const { tenantId, added, delivered, review, refused, orphans, volumes } = result
  expect(added).toBeGreaterThanOrEqual(delivered + orphans)
  expect(added).toBeLessThanOrEqual(delivered + orphans + review)
  expect(delivered + review + refused).toBe(TOP_UPS)
  expect(volumes).toBe(TOP_UPS + delivered)
  const wallet = await walletOf(shop.db, tenantId)
  expect(wallet.refunds).toBe(refused)
  expect(wallet.balance).toBe(wallet.sum)
  const both = await shop.db.query({
    text: `select from transfers t join order_items i
             on i.tenant_id = t.tenant_id and i.order_id = t.order_id and i.item_no = t.item_no
           where t.tenant_id = $1 and t.kind = 'REFUND' and i.item_status <> 'REFUSED'`,
    values: [tenantId],
  })
  expect(both).toEqual([])
  expect(await statuses(shop.db, tenantId)).not.toHaveProperty('PAID')
}
