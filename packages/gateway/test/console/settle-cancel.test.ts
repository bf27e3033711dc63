import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveCancellation } from '../../src/fulfilment/cancelling/save-cancellation.ts'
import { addPackage, PRICE, walletOf } from '../harness/shop.ts'
import { waitForBlockedStatements } from '../harness/statements.ts'
import { addTenant, type ConsoleApp, signedInAs, startConsole } from './console-app.ts'
import { furnish } from './furnished.ts'

let room: ConsoleApp
beforeAll(async () => {
  room = await startConsole()
  await addPackage(room.db, 'JP', [])
})
afterAll(() => room.stop())

/** A dealer's delivered eSIM whose supplier never answered when it was asked to cancel it. */
async function inQuestion(clientName: string) {
  const tenantId = await addTenant(room, clientName)
  const { orderNo, profileId } = await furnish(room, tenantId, 'JP')
  await room.db.query({
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
             started_at, finished_at, outcome)
           select tenant_id, $2, order_id, item_no, supplier, 'CANCEL', $2, now(), now(), 'unknown'
           from profiles where tenant_id = $1`,
    values: [tenantId, room.deps.ids.uuid()],
  })
  const order = `/tenants/${tenantId}/orders/${orderNo}`
  return { tenantId, orderNo, order, settle: `/tenants/${tenantId}/profiles/${profileId}/settle-cancel` }
}

const EVIDENCE = 'Mail of Mr Ito, ticket 4711'

it('a cancel that was never answered is settled on the order’s page, once, with evidence, by who may', async () => {
  const { tenantId, orderNo, order, settle } = await inQuestion('Unanswered')
  const staff = await signedInAs(room, 'OPERATOR_STAFF')
  const dealer = await signedInAs(room, 'DEALER_ADMIN', tenantId)
  const reader = await signedInAs(room, 'OPERATOR_READ_ONLY')
  const word = { verdict: 'cancelled', evidence: EVIDENCE }
  for (const other of [dealer, reader]) expect((await other.call('POST', settle, word)).body.code).toBe('NOT_ALLOWED')
  expect((await staff.call('POST', settle, { verdict: 'cancelled' })).status).toBe(400)
  expect((await staff.call('POST', settle, { ...word, evidence: '     ' })).body.code).toBe('EVIDENCE_MISSING')
  expect((await staff.call('GET', order)).body.items).toMatchObject([{ cancelInQuestion: true }])
  expect((await dealer.call('GET', order)).body.items).toMatchObject([{ cancelInQuestion: false }])
  expect(await walletOf(room.db, tenantId)).toMatchObject({ refunds: 0 })

  expect((await staff.call('POST', settle, word)).status).toBe(200)
  expect((await staff.call('POST', settle, word)).status).toBe(409)
  expect(await walletOf(room.db, tenantId)).toMatchObject({ refunds: 1, refunded: PRICE })
  const shown = (await staff.call('GET', order)).body
  expect(shown).toMatchObject({ refundedAmount: Number(PRICE), items: [{ cancelInQuestion: false }] })
  const decision = { kind: 'DECISION', action: 'order.settle_cancel' }
  expect(shown.timeline).toContainEqual(
    expect.objectContaining({ ...decision, actor: staff.email, after: expect.objectContaining(word) }),
  )
  const told = JSON.stringify((await dealer.call('GET', order)).body)
  expect(told).toContain('order.settle_cancel')
  expect(told).not.toContain('Ito')
  const { entries } = (await staff.call('GET', `/audit?action=order.settle_cancel&tenantId=${tenantId}`)).body
  expect(entries).toMatchObject([{ subject: orderNo, actor: staff.email, address: staff.address, after: word }])
})

it('a cancel that reconciliation has learnt of is in question no more', async () => {
  const { tenantId, order, settle } = await inQuestion('Learnt')
  const staff = await signedInAs(room, 'OPERATOR_STAFF')
  const [{ orderId, profileId } = { orderId: '', profileId: '' }] = await room.db.query<
    Record<'orderId' | 'profileId', string>
  >({
    text: 'select order_id, profile_id from profiles where tenant_id = $1',
    values: [tenantId],
  })
  const refused = { kind: 'refused', message: 'it is in use' } as const
  await saveCancellation(room.deps, tenantId, { orderId, itemNo: 1, profileId }, refused)
  const shown = (await staff.call('GET', order)).body
  expect(shown.items).toMatchObject([{ cancelInQuestion: false }])
  const attempt = { kind: 'ATTEMPT', operation: 'CANCEL', outcome: 'refused', detail: 'it is in use' }
  expect(shown.timeline).toContainEqual(expect.objectContaining(attempt))
  const word = { verdict: 'cancelled', evidence: EVIDENCE }
  expect((await staff.call('POST', settle, word)).body.code).toBe('NOT_IN_QUESTION')
})

it('an eSIM that was kept stays, and is not refunded', async () => {
  const { tenantId, order, settle } = await inQuestion('Kept')
  const staff = await signedInAs(room, 'OPERATOR_STAFF')
  expect((await staff.call('POST', settle, { verdict: 'kept', evidence: EVIDENCE })).status).toBe(200)
  expect((await staff.call('GET', order)).body).toMatchObject({
    refundedAmount: 0,
    items: [{ cancelInQuestion: false }],
    profiles: [{ esimStatus: 'GOT_RESOURCE' }],
  })
  expect((await staff.call('POST', settle, { verdict: 'cancelled', evidence: EVIDENCE })).body.code).toBe(
    'NOT_IN_QUESTION',
  )
  expect(await walletOf(room.db, tenantId)).toMatchObject({ refunds: 0 })
})

it('an eSIM of whose first use is heard while its cancel is settled is not refunded', async () => {
  const { tenantId, settle } = await inQuestion('Used meanwhile')
  const staff = await signedInAs(room, 'OPERATOR_STAFF')
  const settling = await room.db.tx(async (tx) => {
    await tx.query({ text: 'select from orders where tenant_id = $1 for update', values: [tenantId] })
    const answer = staff.call('POST', settle, { verdict: 'cancelled', evidence: EVIDENCE })
    await waitForBlockedStatements(room.db)
    await tx.query({ text: `update profiles set smdp_status = 'DOWNLOAD' where tenant_id = $1`, values: [tenantId] })
    return { answer }
  })
  const { status, body } = await settling.answer
  expect([status, body.code]).toEqual([409, 'ESIM_IN_USE'])
  expect(await walletOf(room.db, tenantId)).toMatchObject({ refunds: 0 })
})
