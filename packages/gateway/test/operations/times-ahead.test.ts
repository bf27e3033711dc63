import { randomUUID } from 'node:crypto'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MAILS } from '#alerts/mail/send-mail.ts'
import { claimDueOrders } from '#fulfilment/claim-orders.ts'
import { WATCHED } from '#fulfilment/reconciliation/ask-watched.ts'
import { ORPHANS } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { countTimesAhead, repairTimesAhead, TIMES_AHEAD } from '#operations/doctor/times-ahead.ts'
import { claimJobs, type JobTable } from '#platform/jobs.ts'
import { withHealthCheck } from '#webhooks/endpoint/check-callback-url.ts'
import { stepReplay } from '#webhooks/replay/replay-step.ts'
import { claimEvents } from '#webhooks/sending/claim-deliveries.ts'
import { listDueTenants } from '#webhooks/sending/due-tenants.ts'
import { addDealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { installSteppableClock, type SteppableClock } from '../harness/databases/steppable-clock.ts'
import { createScriptedSupplier } from '../harness/scripted-supplier.ts'
import { addPackage, createShop, payOrders, type Shop } from '../harness/shop.ts'

const MINUTE_MS = 60_000
const STEPS = [
  ['a second', 1_000],
  ['five minutes', 5 * MINUTE_MS],
  ['an hour', 60 * MINUTE_MS],
  ['a day', 24 * 60 * MINUTE_MS],
] as const

/* A worker dies while the database's clock is fast. Once the clock is correct, others soon find what it left behind. */
let database: TestDatabase
let clock: SteppableClock
let shop: Shop
let node: Node
beforeAll(async () => {
  database = await createTestDatabase()
  clock = await installSteppableClock(database.url)
  shop = await createShop(database.url)
  node = await startNode(database.url)
  await addPackage(shop.db, 'P', [{ supplier: 'odd', productCode: 'P-1' }])
})
beforeEach(() => clock.setOffset(0))
afterAll(async () => {
  await node.stop()
  await shop.close()
  await clock.close()
  await database.drop()
})

/**
 * Runs `work` while the clock is fast. Then the clock is correct, and `laterMs` pass, during which a worker makes repairs.
 */
async function whileAhead(aheadMs: number, laterMs: number, work: () => Promise<unknown>): Promise<void> {
  await clock.setOffset(aheadMs)
  await work()
  await clock.setOffset(laterMs)
  await repairTimesAhead(shop.db, TIMES_AHEAD)
}

const later = MINUTE_MS

describe.each(STEPS)('after the clock ran fast by %s', (_, aheadMs) => {
  it('an order that a dead worker had leased is claimed within a minute', async () => {
    const { tenantId } = await addDealer(node.deps)
    const { deps } = createScriptedSupplier(shop)
    const [orderId] = await payOrders(shop.db, tenantId, 'P')
    await whileAhead(aheadMs, later, () => claimDueOrders(deps, tenantId, 10))
    expect((await claimDueOrders(deps, tenantId, 10)).attempts).toMatchObject([{ orderId, operation: 'QUERY' }])
  })

  it('an order that waited for another purchase attempt is bought within a minute', async () => {
    const { tenantId } = await addDealer(node.deps)
    const [orderId] = await payOrders(shop.db, tenantId, 'P')
    await whileAhead(aheadMs, later + 15_000, async () => {
      const soon = `now() + interval '15 seconds'`
      await shop.db.query({ text: `update orders set due_at = ${soon} where tenant_id = $1`, values: [tenantId] })
      await shop.db.query({
        text: `update order_items set retry_at = ${soon} where tenant_id = $1`,
        values: [tenantId],
      })
    })
    expect((await claimDueOrders(createScriptedSupplier(shop).deps, tenantId, 10)).attempts).toMatchObject([
      { orderId },
    ])
  })

  it('an item put in doubt during that time is not left until the clock reaches it again', async () => {
    const { tenantId } = await addDealer(node.deps)
    const { deps } = createScriptedSupplier(shop)
    await payOrders(shop.db, tenantId, 'P')
    await whileAhead(aheadMs, later, () => claimDueOrders(deps, tenantId, 10))
    const [attempt] = (await claimDueOrders(deps, tenantId, 10)).attempts
    expect(attempt!.doubtSince!.getTime()).toBeLessThanOrEqual(Date.now() + later)
  })

  it('a call that may be in progress is not repeated, because its period of doubt begins again', async () => {
    const { tenantId } = await addDealer(node.deps)
    const { deps } = createScriptedSupplier(shop)
    await clock.setOffset(-aheadMs)
    await payOrders(shop.db, tenantId, 'P')
    await shop.db.query({ text: 'update orders set due_at = now() where tenant_id = $1', values: [tenantId] })
    await claimDueOrders(deps, tenantId, 10)
    await clock.setOffset(aheadMs < 30_000 ? 60_000 : 0)
    const [attempt] = (await claimDueOrders(deps, tenantId, 10)).attempts
    expect(attempt!.operation).toBe('QUERY')
    expect(attempt!.startedAt.getTime() - attempt!.doubtSince!.getTime()).toBe(0)
  })

  it('events that a dead worker had claimed are claimed by another node within a minute', async () => {
    const { tenantId } = await addDealer(node.deps)
    await addEvent(tenantId, 0)
    const request = { tenantId, limit: 10, after: undefined, excludedIds: [] }
    const claimAs = (nodeId: string, nowMs: number) => claimEvents(node.deps, nodeId, [request], nowMs)
    await whileAhead(aheadMs, later, async () => {
      expect((await claimAs(randomUUID(), Date.now() + aheadMs))[0]!.events).toHaveLength(1)
    })
    const databaseClock = { now: () => Date.now() + later, observe: () => {} }
    const due = await listDueTenants({ ...node.deps, databaseClock }, randomUUID(), undefined, 500)
    expect(due.find((one) => one.tenantId === tenantId)).toMatchObject({ isHeldElsewhere: false })
    expect((await claimAs(randomUUID(), Date.now() + later))[0]!.events).toHaveLength(1)
  })

  it('an event that was due for a retry is at most a minute late', async () => {
    const { tenantId } = await addDealer(node.deps)
    const notifyId = await addEvent(tenantId, 1)
    await whileAhead(aheadMs, later + 10_000, () =>
      shop.db.query({
        text: `update deliveries set due_at = now() + interval '10 seconds' where notify_id = $1`,
        values: [notifyId],
      }),
    )
    const text = 'select from deliveries where notify_id = $1 and due_at <= now()'
    expect(await shop.db.query({ text, values: [notifyId] })).toHaveLength(1)
  })

  it.each([
    ['a mail', MAILS, addMail],
    ['a watched item', WATCHED, addWatched],
    ['an orphan', ORPHANS, addOrphan],
  ] as const)('%s that a dead worker had claimed waits no longer than twice its lease', async (_name, jobs, add) => {
    await shop.db.query({ text: `delete from ${jobs.table}` })
    await clock.setOffset(aheadMs)
    await add(systemIds.uuid())
    await whileAhead(aheadMs, 21 * MINUTE_MS, async () => expect(await claimOne(jobs)).toHaveLength(1))
    expect(await claimOne(jobs)).toHaveLength(1)
    expect(await claimOne(jobs)).toHaveLength(0)
  })

  it('a health check that a dead node had begun does not block others for longer than a minute', async () => {
    const { tenantId } = await addDealer(node.deps)
    const dead = { ...node.deps, databaseClock: { now: () => Date.now() + aheadMs, observe: () => {} } }
    const alive = { ...node.deps, databaseClock: { now: () => Date.now() + later + 1_000, observe: () => {} } }
    const check = (deps: typeof dead) =>
      withHealthCheck(deps, tenantId, { url: 'http://127.0.0.1:1/', eventFormat: 'DEALER' }, async () => {}).catch(
        (error) => error.code,
      )
    for (let i = 0; i < 10; i++) expect(await check(dead)).toBe('400102')
    await shop.db.query({
      text: 'update webhook_checks set lease_until = $2 where tenant_id = $1',
      values: [tenantId, new Date(Date.now() + aheadMs + 10_000)],
    })
    expect(await check(alive)).toBe('400102')
  })

  it('a replay continues within a second', async () => {
    const { tenantId } = await addDealer(node.deps)
    await addEvent(tenantId, 1, 'DEAD')
    const replayId = systemIds.uuid()
    await shop.db.query({
      text: `insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2) on conflict do nothing`,
      values: [tenantId, node.deps.cipher.encrypt('https://example.com/', tenantId)],
    })
    await shop.db.query({
      text: `insert into webhook_replays (tenant_id, replay_id, notify_types, delivery_states, from_id, to_id, cursor_id,
               rate_per_s, matched, stepped_at, actor, created_at)
             values ($1, $2, '{ORDER_PAID}', '{DEAD}', $3, $4, $3, 10, 1, $5, 'system', now())`,
      values: [
        ...[tenantId, replayId, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
        new Date(Date.now() + aheadMs),
      ],
    })
    const step = (passedMs: number) =>
      stepReplay(
        { ...node.deps, databaseClock: { now: () => Date.now() + passedMs, observe: () => {} } },
        tenantId,
        replayId,
      )
    await step(0)
    expect((await step(1_000)).replayed).toBe(1)
  })

  it('doctor counts the times in the future, and finds none after their repair', async () => {
    const { tenantId } = await addDealer(node.deps)
    await shop.db.query({ text: 'delete from deliveries' })
    await addEvent(tenantId, 0)
    await clock.setOffset(aheadMs)
    await shop.db.query({ text: 'update deliveries set due_at = now() where tenant_id = $1', values: [tenantId] })
    await clock.setOffset(0)
    const found = async () =>
      (await countTimesAhead(shop.db, TIMES_AHEAD)).find(({ table }) => table === 'deliveries')!.count
    expect(await found()).toBe(aheadMs > 10_000 ? 1 : 0)
    await repairTimesAhead(shop.db, TIMES_AHEAD)
    expect(await found()).toBe(0)
  })
})

async function addEvent(tenantId: string, attempts: number, state = 'PENDING'): Promise<string> {
  const notifyId = systemIds.uuid()
  await shop.db.query({
    text: `insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
           values ($1, $2, 'ORDER_PAID', $2, '{}', now())`,
    values: [tenantId, notifyId],
  })
  await shop.db.query({
    text: `insert into deliveries (tenant_id, notify_id, delivery_state, due_at, attempts)
           values ($1, $2, $3, case when $3 = 'PENDING' then now() end, $4)`,
    values: [tenantId, notifyId, state, attempts],
  })
  return notifyId
}

const claimOne = (jobs: JobTable) => claimJobs(shop.db, jobs, 10)

function addMail(id: string) {
  const text = `insert into mails (tenant_id, mail_id, recipient, kind, due_at) values ($1, $1, 'a@example.com', 'K', now())`
  return shop.db.query({ text, values: [id] })
}

function addWatched(id: string) {
  return shop.db.query({
    text: `insert into watched_items (tenant_id, order_id, item_no, purpose, due_at, give_up_at, supplier)
           values ($1, $1, 1, 'REFUNDED_IN_DOUBT', now(), now() + interval '7 days', 'odd')`,
    values: [id],
  })
}

function addOrphan(id: string) {
  return shop.db.query({
    text: `insert into orphans (tenant_id, orphan_id, order_id, item_no, supplier, iccid, secrets, created_at, updated_at)
           values ($1, $1, $1, 1, 'odd', 'i', '', now(), now())`,
    values: [id],
  })
}
