import { afterAll, beforeAll, expect, it } from 'vitest'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { acceptEsim } from '#fulfilment/outcomes/save-outcomes.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { runClaim } from '#fulfilment/run-claim.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { createScriptedSupplier, newEsim } from '../harness/scripted-supplier.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop, walletOf } from '../harness/shop.ts'

/*
 * Claiming many orders takes a while. The claim must see changes that are committed to an order during that time without a
 * lease.
 */

let database: TestDatabase
let shop: Shop

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X' }])
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

const GATE = 4_711

/** An order for two eSIMs, and an earlier one at which a claim blocks. All items are due and were ordered long ago. */
async function twoOrders(itemStatus: 'UNKNOWN' | 'REVIEW') {
  const tenantId = await addTenant(shop.db)
  const [first] = await payOrders(shop.db, tenantId, 'ODD')
  const [orderId] = await payOrders(shop.db, tenantId, 'ODD', { count: 2 })
  await shop.db.query({
    text: `update order_items set item_status = $2, supplier = 'odd', product_code = 'X', attempts = 1,
             requested_at = now() - interval '10 minutes', in_doubt_at = now() - interval '10 minutes',
             retry_at = now() - interval '1 second'
           where tenant_id = $1`,
    values: [tenantId, itemStatus],
  })
  await shop.db.query({
    text: `update orders set order_status = $3,
             due_at = now() - case when order_id = $2 then interval '9 s' else interval '1 s' end
           where tenant_id = $1`,
    values: [tenantId, first, itemStatus === 'REVIEW' ? 'UNDER_REVIEW' : 'ALLOCATING'],
  })
  await shop.db.query({
    text: `create or replace function block_at_first() returns trigger language plpgsql as $$ begin
             if new.order_id = '${first}' and old.lease_token is null then perform pg_advisory_xact_lock(${GATE}); end if;
             return new; end $$`,
  })
  await shop.db.query({
    text: 'create or replace trigger blocking before update on orders for each row execute function block_at_first()',
  })
  return { tenantId, orderId: orderId!, deps: createScriptedSupplier(shop, {}, { batch: 10 }).deps }
}

/** Runs `meanwhile` when the claim has begun but has not reached the second order yet. */
async function claimAround(
  { tenantId, deps }: Awaited<ReturnType<typeof twoOrders>>,
  meanwhile: () => Promise<unknown>,
) {
  return shop.db.tx(async (tx) => {
    await tx.query({ text: 'select pg_advisory_lock($1)', values: [GATE] })
    const claiming = claimDueOrders(deps, tenantId, 200)
    await waitForBlockedStatements(shop.db)
    await meanwhile()
    await tx.query({ text: 'select pg_advisory_unlock($1)', values: [GATE] })
    return claiming
  })
}

const items = (tenantId: string, orderId: string) =>
  shop.db.query({
    text: `select item_status, (select count(*)::int from profiles p
             where p.tenant_id = i.tenant_id and p.order_id = i.order_id and p.item_no = i.item_no) as esims
           from order_items i where tenant_id = $1 and order_id = $2 order by item_no`,
    values: [tenantId, orderId],
  })

it('a claim includes an eSIM that arrived after the claim began', async () => {
  const scene = await twoOrders('UNKNOWN')
  const { tenantId, orderId, deps } = scene
  const arrived = { orderId, itemNo: 1, supplier: 'odd' }
  const claim = await claimAround(scene, () => acceptEsim(deps, tenantId, arrived, newEsim()))
  expect(claim.attempts.filter((one) => one.orderId === orderId).map(({ itemNo }) => itemNo)).toEqual([2])
  await runClaim(deps, claim, shop.clock.monotonic())
  const delivered = { itemStatus: 'DELIVERED', esims: 1 }
  expect(await items(tenantId, orderId)).toEqual([delivered, delivered])
})

it('a claim includes an operator’s decision that was made after the claim began', async () => {
  const scene = await twoOrders('REVIEW')
  const { tenantId, orderId, deps } = scene
  const resolution = { tenantId, orderId, evidence: 'by telephone' } as const
  const claim = await claimAround(scene, () =>
    resolveOrder(deps, { ...resolution, itemNos: [1], verdict: { kind: 'refused' } }, { actor: 'cli:ada' }),
  )
  await runClaim(deps, claim, shop.clock.monotonic())
  expect(await items(tenantId, orderId)).toEqual([
    { itemStatus: 'REFUSED', esims: 0 },
    { itemStatus: 'DELIVERED', esims: 1 },
  ])
  expect((await walletOf(shop.db, tenantId)).refunds).toBe(1)
})

it('orders of a tenant being moved are not leased, even if a wakeup names the tenant', async () => {
  const { deps } = createScriptedSupplier(shop, {}, { batch: 10 })
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, 'ODD')
  const hold = async (until: string) =>
    shop.db.query({
      text: `insert into tenant_moves (tenant_id, move_id, direction, other_cell, state, held_until, actor)
             values ($1, $1, 'OUT', 'other', 'COPYING', $2, 'cli:tester')
             on conflict (tenant_id) do update set held_until = excluded.held_until`,
      values: [tenantId, until],
    })
  await hold('infinity')
  expect((await claimDueOrders(deps, tenantId, 200)).orderCount).toBe(0)
  await hold('-infinity')
  expect((await claimDueOrders(deps, tenantId, 200)).orderCount).toBe(1)
})
