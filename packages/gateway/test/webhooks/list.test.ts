import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { DeliveryState } from '../../src/webhooks/delivery-state.ts'
import { listEvents, showEvent } from '../../src/webhooks/read.ts'
import { type ExplainedQuery, explainQueries } from '../harness/statements.ts'
import { type Bed, openBed, type TestTenant } from './bed.ts'
import { type Receiver, startReceiver } from './receiver.ts'

let bed: Bed
let receiver: Receiver
let tenant: TestTenant
/** By what became of each. */
const ids: Record<DeliveryState, string> = { PENDING: '', DELIVERED: '', DEAD: '', UNSENT: '' }
beforeAll(async () => {
  bed = await openBed()
  receiver = await startReceiver()
  tenant = await bed.tenant({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID'] })
  const loop = bed.startLoop()
  ids.DELIVERED = await recorded('ORDER_PAID', 'DELIVERED')
  receiver.script = 500
  ids.PENDING = await recorded('ORDER_PAID', 'PENDING', 1)
  ids.DEAD = await recorded('ORDER_PAID', 'PENDING', 1)
  await loop.stop(1_000)
  await bed.deps.db.query({
    text: `update deliveries set delivery_state = 'DEAD', due_at = null, attempts = 11 where notify_id = $1`,
    values: [ids.DEAD],
  })
  ids.UNSENT = await recorded('DELIVERY_UPDATED', 'UNSENT')
})
afterAll(async () => {
  await bed.close()
  await receiver.close()
})

async function recorded(type: 'ORDER_PAID' | 'DELIVERY_UPDATED', state: DeliveryState, attempts?: number) {
  const [notifyId] = await bed.record(tenant, 1, type)
  await vi.waitFor(async () => {
    const event = (await bed.states(tenant)).find((event) => event.notifyId === notifyId)
    expect(event).toMatchObject({ deliveryState: state, ...(attempts === undefined ? {} : { attempts }) })
  }, 5_000)
  return notifyId!
}

const list = (deliveryStates?: DeliveryState[], db = bed.deps.db) =>
  listEvents(db, { tenantId: tenant.tenantId, deliveryStates }, { most: 100 })

test.for<{ states: DeliveryState[] }>([
  { states: ['PENDING'] },
  { states: ['DELIVERED'] },
  { states: ['DEAD'] },
  { states: ['UNSENT'] },
  { states: ['DEAD', 'UNSENT'] },
  { states: ['DELIVERED', 'PENDING'] },
  { states: ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] },
])('$states are listed', async ({ states }) => {
  const found = await list(states)
  expect(new Map(found.map((event) => [event.notifyId, event.deliveryState]))).toEqual(
    new Map(states.map((state) => [ids[state], state])),
  )
})

test('all are listed, newest first, each with how its delivery went', async () => {
  const ended = expect.any(Date)
  const plain = { attempts: 0, dueAt: null, settledAt: null, lastOutcome: null }
  expect(await list()).toMatchObject([
    { notifyId: ids.UNSENT, ...plain },
    { notifyId: ids.DEAD, attempts: 11, dueAt: null, settledAt: ended, lastOutcome: 'status 500' },
    { notifyId: ids.PENDING, attempts: 1, dueAt: ended, settledAt: null, lastOutcome: 'status 500' },
    { notifyId: ids.DELIVERED, attempts: 1, dueAt: null, settledAt: ended, lastOutcome: 'acknowledged' },
  ])
})

test('the attempts of what was delivered are told for as long as the log has them', async () => {
  const [notifyId] = await bed.record(tenant)
  await bed.deps.db.query({ text: 'delete from deliveries where notify_id = $1', values: [notifyId] })
  expect(await showEvent(bed.deps.db, tenant.tenantId, notifyId!)).toMatchObject({
    deliveryState: 'DELIVERED',
    attempts: null,
    settledAt: null,
    attemptList: [],
  })
})

test('what is delivered is not looked at where something else is asked for', async () => {
  const seen: ExplainedQuery[] = []
  const db = explainQueries(bed.deps.db, seen)
  await list(['UNSENT', 'DEAD'], db)
  const more = await bed.record(tenant, 2_000)
  await bed.deps.db.query({ text: 'delete from deliveries where notify_id = any ($1)', values: [more] })
  await bed.deps.db.query({ text: 'vacuum analyze events, deliveries' })
  expect(await list(['UNSENT', 'DEAD'], db)).toHaveLength(2)
  const [before, after] = seen
  expect(after!.discarded).toBeLessThanOrEqual(before!.discarded)
  expect(after!.pages).toBeLessThan(2 * before!.pages)
})
