import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { DeliveryState } from '#webhooks/delivery-state.ts'
import { FIGURES_ATTEMPTS_MAX, readEndpointFigures } from '#webhooks/endpoint/endpoint-figures.ts'
import { getEvent, listEvents } from '#webhooks/list-events.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { loggedHeaders } from '#webhooks/sending/delivery-attempt.ts'
import { type ExplainedQuery, explainQueries } from '../harness/databases/statements.ts'
import { vacuum } from '../harness/databases/tables.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, type Testbed, type TestTenant } from './webhook-testbed.ts'

let testbed: Testbed
let receiver: Receiver
let tenant: TestTenant
/** By delivery state. */
const ids: Record<DeliveryState, string> = { PENDING: '', DELIVERED: '', DEAD: '', UNSENT: '' }
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver()
  tenant = await testbed.tenant({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  const loop = testbed.startLoop()
  ids.DELIVERED = await recorded('ORDER_PAID', 'DELIVERED')
  receiver.script = 500
  ids.PENDING = await recorded('ORDER_PAID', 'PENDING', 1)
  ids.DEAD = await recorded('ORDER_PAID', 'PENDING', 1)
  await loop.stop(1_000)
  await testbed.deps.db.query({
    text: `update deliveries set delivery_state = 'DEAD', due_at = null, attempts = 11 where notify_id = $1`,
    values: [ids.DEAD],
  })
  ids.UNSENT = await recorded('DELIVERY_UPDATED', 'UNSENT')
})
afterAll(async () => {
  await testbed.close()
  await receiver.close()
})

async function recorded(type: 'ORDER_PAID' | 'DELIVERY_UPDATED', state: DeliveryState, attempts?: number) {
  const [notifyId] = await testbed.record(tenant, 1, type)
  await vi.waitFor(async () => {
    const event = (await testbed.states(tenant)).find((event) => event.notifyId === notifyId)
    expect(event).toMatchObject({ deliveryState: state, ...(attempts === undefined ? {} : { attempts }) })
  }, 20_000)
  return notifyId!
}

const list = (deliveryStates?: DeliveryState[], db = testbed.deps.db) =>
  listEvents(db, { tenantId: tenant.tenantId, deliveryStates }, { limit: 100 })

test.for<{ states: DeliveryState[] }>([
  { states: ['PENDING'] },
  { states: ['DELIVERED'] },
  { states: ['DEAD'] },
  { states: ['UNSENT'] },
  { states: ['DEAD', 'UNSENT'] },
  { states: ['DELIVERED', 'PENDING'] },
  { states: ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] },
])('events in the states $states can be listed', async ({ states }) => {
  const found = await list(states)
  expect(new Map(found.map((event) => [event.notifyId, event.deliveryState]))).toEqual(
    new Map(states.map((state) => [ids[state], state])),
  )
})

test('all events are listed newest first, each with its delivery state', async () => {
  const ended = expect.any(Date)
  const plain = { attempts: 0, dueAt: null, settledAt: null, lastOutcome: null }
  expect(await list()).toMatchObject([
    { notifyId: ids.UNSENT, ...plain },
    { notifyId: ids.DEAD, attempts: 11, dueAt: null, settledAt: ended, lastOutcome: 'status 500' },
    { notifyId: ids.PENDING, attempts: 1, dueAt: ended, settledAt: null, lastOutcome: 'status 500' },
    { notifyId: ids.DELIVERED, attempts: 1, dueAt: null, settledAt: ended, lastOutcome: 'acknowledged' },
  ])
})

test('a delivered event’s attempts are shown as long as the log keeps them', async () => {
  const [notifyId] = await testbed.record(tenant)
  await testbed.deps.db.query({ text: 'delete from deliveries where notify_id = $1', values: [notifyId] })
  expect(await getEvent(testbed.deps.db, tenant.tenantId, notifyId!)).toMatchObject({
    deliveryState: 'DELIVERED',
    attempts: null,
    settledAt: null,
    attemptList: [],
  })
})

test('a logged attempt shows the headers that the receiver received, with only the beginnings of signatures', async () => {
  const { appKey, attemptList } = await getEvent(testbed.deps.db, tenant.tenantId, ids.DELIVERED)
  const headers = loggedHeaders(appKey, attemptList[0]!)
  const received = receiver.received.find((one) => one.headers['webhook-id'] === ids.DELIVERED)!.headers
  expect(headers.map(([name]) => name)).toHaveLength(9)
  for (const [name, value] of headers) {
    const sent = String(received[name.toLowerCase()])
    if (!name.toLowerCase().endsWith('signature')) expect([name, value]).toEqual([name, sent])
    else {
      expect(value).toMatch(name === 'X-Signature' ? /^[0-9a-f]{8}…$/ : /^v1,[A-Za-z0-9+/]{8}…$/)
      expect(sent.startsWith(value.slice(0, -1))).toBe(true)
    }
  }
})

test('listing undelivered events does not read delivered events', async () => {
  const seen: ExplainedQuery[] = []
  const db = explainQueries(testbed.deps.db, seen)
  await list(['UNSENT', 'DEAD'], db)
  const more = await testbed.record(tenant, 2_000)
  await testbed.deps.db.query({ text: 'delete from deliveries where notify_id = any ($1)', values: [more] })
  await vacuum(testbed.deps.db, 'events', 'deliveries')
  expect(await list(['UNSENT', 'DEAD'], db)).toHaveLength(2)
  // Each list takes two statements: one finds the events, the other reads them.
  expect(seen).toHaveLength(4)
  for (const [before, after] of [
    [seen[0], seen[2]],
    [seen[1], seen[3]],
  ]) {
    // Reading by delivery may discard the few rows that do not match.
    expect(after!.discarded).toBeLessThan(before!.discarded + 10)
    expect(after!.pages).toBeLessThan(2 * before!.pages)
  }
})

test('an event that does not concern an order is listed, shown, resent and sent like the others', async () => {
  const dealer = await testbed.tenant({ callbackUrl: receiver.url, eventTypes: ['BALANCE_LOW'] })
  const [notifyId] = await testbed.record(dealer, 1, 'BALANCE_LOW')
  await testbed.record(dealer, 1, 'ESIM_USAGE')
  const listed = (filter: object) =>
    listEvents(testbed.deps.db, { tenantId: dealer.tenantId, ...filter }, { limit: 10 })
  expect(await listed({ notifyTypes: ['BALANCE_LOW'] })).toMatchObject([{ notifyId, orderNo: null }])
  expect(await listed({ deliveryStates: ['UNSENT'] })).toMatchObject([{ notifyType: 'ESIM_USAGE' }])
  expect(await getEvent(testbed.deps.db, dealer.tenantId, notifyId!)).toMatchObject({ orderNo: null })
  receiver.script = 200
  const loop = testbed.startLoop()
  await vi.waitFor(async () => {
    expect(await listed({ deliveryStates: ['DELIVERED'] })).toMatchObject([{ notifyId, orderNo: null }])
  }, 20_000)
  await resendEvent(testbed.deps, dealer.tenantId, notifyId!, { actor: 'tenant' })
  await vi.waitFor(async () => expect(await testbed.attempts(dealer)).toHaveLength(2), 20_000)
  await loop.stop(1_000)
})

test('events of one kind are listed with the status or threshold that distinguishes them', async () => {
  const dealer = await testbed.tenant()
  const { db } = testbed.deps
  const change = async (type: Parameters<Testbed['record']>[2], content: object, details: object | null = null) => {
    const [notifyId] = await testbed.record(dealer, 1, type)
    await db.query({
      text: 'update events set content = $2, details = $3 where notify_id = $1',
      values: [notifyId, content, details],
    })
  }
  const profiles = [
    { esimTranNo: 'E-1', esimStatus: 'IN_USE', smdpStatus: 'ENABLED' },
    { esimTranNo: 'E-2', esimStatus: 'GOT_RESOURCE', smdpStatus: 'DOWNLOAD' },
  ]
  const delivered = { orderStatus: 'DELIVERED', profiles }
  await change('DELIVERY_UPDATED', delivered)
  await change('DELIVERY_UPDATED', delivered, { changed: 'smdpStatus', esimTranNo: 'E-2', eid: null })
  await change('ESIM_ACTION_UPDATED', { actionStatus: 'DONE' })
  await change('ESIM_USAGE', { threshold: 80 })
  await change('ESIM_EXPIRING', { hours: 24 })
  const found = await listEvents(db, { tenantId: dealer.tenantId }, { limit: 10 })
  expect(found.map(({ statuses, level }) => ({ statuses, level })).reverse()).toEqual([
    { statuses: ['DELIVERED'], level: null },
    { statuses: ['DELIVERED', 'DOWNLOAD'], level: null },
    { statuses: ['DONE'], level: null },
    { statuses: [], level: { unit: 'PERCENT', value: 80 } },
    { statuses: [], level: { unit: 'HOURS', value: 24 } },
  ])
})

test('endpoint figures count the attempts in each part of a period, up to a fixed number', async () => {
  const dealer = await testbed.tenant()
  const { db, ids: newIds } = testbed.deps
  const [notifyId] = await testbed.record(dealer)
  const log = (count: number, outcome: string, durationMs: number) =>
    db.query({
      text: `insert into delivery_attempts (tenant_id, attempt_id, notify_id, notify_type, attempt_no, url, started_at,
               duration_ms, outcome)
             select $1, a, $2, 'ORDER_PAID', 1, 'https://receiver.test/', now(), $5, $4 from unnest($3::uuid[]) a`,
      values: [dealer.tenantId, notifyId, Array.from({ length: count }, () => newIds.uuid()), outcome, durationMs],
    })
  await log(3, 'acknowledged', 40)
  await log(1, 'status 500', 900)
  const figures = () => readEndpointFigures(testbed.deps, dealer.tenantId, 'DAY')
  const { isSample, parts } = await figures()
  expect([isSample, parts.length]).toEqual([false, 24])
  expect(parts.filter((part) => part.p50Ms !== null)).toMatchObject([
    { acknowledged: 3, failed: 1, p50Ms: 40, p95Ms: 771 },
  ])
  expect((await readEndpointFigures(testbed.deps, tenant.tenantId, 'WEEK')).parts).toHaveLength(28)
  await log(FIGURES_ATTEMPTS_MAX, 'acknowledged', 40)
  const more = await figures()
  const counted = more.parts.reduce((sum, part) => sum + part.acknowledged + part.failed, 0)
  expect([more.isSample, counted]).toEqual([true, FIGURES_ATTEMPTS_MAX])
})
