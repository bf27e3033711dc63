import { ESIM_ACTIONS } from '@dealer-esim/contract'
import type { ActionOutcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { waitForBlockedStatements } from '#test/harness/databases/statements.ts'
import { addActions } from '#test/harness/esim-actions.ts'
import { createScriptedSupplier } from '#test/harness/scripted-supplier.ts'
import { addPackage, PRICE, type Shop, walletOf } from '#test/harness/shop.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'
import { seedTenant } from './seeded-console.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
  await addPackage(testbed.db, 'JP', [])
})
afterAll(() => testbed.stop())

/** Creates a delivered eSIM with a cancellation that its supplier has not answered. */
async function pendingCancellation(clientName: string) {
  const tenantId = await addTenant(testbed, clientName)
  const { orderNo, profileId } = await seedTenant(testbed, tenantId, 'JP')
  await addActions(testbed.deps, tenantId, { attempts: 1 })
  const order = `/tenants/${tenantId}/orders/${orderNo}`
  return { tenantId, orderNo, order, resolvePath: `/tenants/${tenantId}/profiles/${profileId}/settle-cancel` }
}

const EVIDENCE = 'Mail of Mr Ito, ticket 4711'

it('an operator with write access resolves a pending cancellation once, with evidence', async () => {
  const { tenantId, orderNo, order, resolvePath } = await pendingCancellation('Unanswered')
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  const reader = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
  const resolution = { verdict: 'cancelled', evidence: EVIDENCE }
  for (const other of [dealer, reader])
    expect((await other.call('POST', resolvePath, resolution)).body.code).toBe('NOT_ALLOWED')
  expect((await staff.call('POST', resolvePath, { verdict: 'cancelled' })).status).toBe(400)
  expect((await staff.call('POST', resolvePath, { ...resolution, evidence: '     ' })).body.code).toBe(
    'EVIDENCE_MISSING',
  )
  expect((await staff.call('GET', order)).body.items).toMatchObject([{ cancelInQuestion: true }])
  expect((await dealer.call('GET', order)).body.items).toMatchObject([{ cancelInQuestion: false }])
  expect(await walletOf(testbed.db, tenantId)).toMatchObject({ refunds: 0 })

  expect((await staff.call('POST', resolvePath, resolution)).status).toBe(200)
  expect((await staff.call('POST', resolvePath, resolution)).status).toBe(409)
  expect(await walletOf(testbed.db, tenantId)).toMatchObject({ refunds: 1, refunded: PRICE })
  const shown = (await staff.call('GET', order)).body
  expect(shown).toMatchObject({ refundedAmount: Number(PRICE), items: [{ cancelInQuestion: false }] })
  const decision = { kind: 'DECISION', action: 'order.settle_cancel' }
  expect(shown.timeline).toContainEqual(
    expect.objectContaining({ ...decision, actor: staff.email, after: expect.objectContaining(resolution) }),
  )
  const dealerView = JSON.stringify((await dealer.call('GET', order)).body)
  expect(dealerView).toContain('order.settle_cancel')
  expect(dealerView).not.toContain('Ito')
  const { entries } = (await staff.call('GET', `/audit?action=order.settle_cancel&tenantId=${tenantId}`)).body
  expect(entries).toMatchObject([{ subject: orderNo, actor: staff.email, address: staff.address, after: resolution }])
})

it('a cancellation is no longer pending once reconciliation has found its outcome', async () => {
  const { order, resolvePath } = await pendingCancellation('Learnt')
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  expect((await staff.call('GET', order)).body.items).toMatchObject([{ cancelInQuestion: true }])
  const refused = { kind: 'refused', message: 'it is in use' } as const
  const { supplied } = createScriptedSupplier(testbed.deps as unknown as Shop, { cancel: async () => refused })
  expect(await runDueActions({ ...testbed.deps, suppliers: { get: () => supplied } })).toBeGreaterThan(0)
  const shown = (await staff.call('GET', order)).body
  expect(shown.items).toMatchObject([{ cancelInQuestion: false }])
  const attempt = { kind: 'ATTEMPT', operation: 'CANCEL', outcome: 'refused', detail: 'it is in use' }
  expect(shown.timeline).toContainEqual(expect.objectContaining(attempt))
  const resolution = { verdict: 'cancelled', evidence: EVIDENCE }
  expect((await staff.call('POST', resolvePath, resolution)).body.code).toBe('NOT_IN_QUESTION')
})

it('an eSIM that the supplier did not cancel is kept and not refunded', async () => {
  const { tenantId, order, resolvePath } = await pendingCancellation('Kept')
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  expect((await staff.call('POST', resolvePath, { verdict: 'kept', evidence: EVIDENCE })).status).toBe(200)
  expect((await staff.call('GET', order)).body).toMatchObject({
    refundedAmount: 0,
    items: [{ cancelInQuestion: false }],
    profiles: [{ esimStatus: 'GOT_RESOURCE' }],
  })
  expect((await staff.call('POST', resolvePath, { verdict: 'cancelled', evidence: EVIDENCE })).body.code).toBe(
    'NOT_IN_QUESTION',
  )
  expect(await walletOf(testbed.db, tenantId)).toMatchObject({ refunds: 0 })
})

it('an eSIM that is used while its cancellation is being resolved is not refunded', async () => {
  const { tenantId, resolvePath } = await pendingCancellation('Used meanwhile')
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  const resolving = await testbed.db.tx(async (tx) => {
    await tx.query({ text: 'select from orders where tenant_id = $1 for update', values: [tenantId] })
    const answer = staff.call('POST', resolvePath, { verdict: 'cancelled', evidence: EVIDENCE })
    await waitForBlockedStatements(testbed.db)
    await tx.query({ text: `update profiles set smdp_status = 'DOWNLOAD' where tenant_id = $1`, values: [tenantId] })
    return { answer }
  })
  const { status, body } = await resolving.answer
  expect([status, body.code]).toEqual([409, 'ESIM_IN_USE'])
  expect(await walletOf(testbed.db, tenantId)).toMatchObject({ refunds: 0 })
})

describe('an eSIM action in the console', () => {
  /** Runs a test while the eSIMs' supplier answers as scripted. */
  async function supplierAnswers(script: Partial<Supplier>, run: () => Promise<void>): Promise<void> {
    const { suppliers } = testbed.deps
    const { supplied } = createScriptedSupplier(testbed.deps as unknown as Shop, script)
    Object.assign(testbed.deps, { suppliers: { ...suppliers, get: () => supplied } })
    await run().finally(() => Object.assign(testbed.deps, { suppliers }))
  }

  async function esimInUse(clientName: string) {
    const tenantId = await addTenant(testbed, clientName)
    const { profileId, orderNo } = await seedTenant(testbed, tenantId, 'JP')
    await testbed.db.query({
      text: `update profiles set esim_status = 'IN_USE', smdp_status = 'ENABLED' where tenant_id = $1`,
      values: [tenantId],
    })
    const esim = `/tenants/${tenantId}/profiles/${profileId}`
    return { tenantId, orderNo, esim, reason: 'asked by phone' }
  }

  it('by an operator suspends, resumes or revokes immediately, with an audit entry and without a refund', async () => {
    const { tenantId, orderNo, esim, reason } = await esimInUse('In use')
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    const asked: string[] = []
    const done = (name: string) => async (): Promise<ActionOutcome> => {
      asked.push(name)
      return { kind: 'done' }
    }
    await supplierAnswers(
      { suspend: done('SUSPEND'), unsuspend: done('UNSUSPEND'), revoke: done('REVOKE') },
      async () => {
        const actions = ['SUSPEND', 'UNSUSPEND', 'REVOKE'] as const
        const states = [{ suspended: true }, { suspended: false }, { esimStatus: 'REVOKED' }]
        for (const [index, action] of actions.entries()) {
          const { status, body } = await staff.call('POST', `${esim}/operator-actions`, { action, reason })
          expect([action, status, body]).toEqual([action, 200, { outcome: 'done', words: null }])
          expect((await staff.call('GET', esim)).body).toMatchObject(states[index]!)
        }
        expect(asked).toEqual(actions)
        const repeat = await staff.call('POST', `${esim}/operator-actions`, { action: 'REVOKE', reason })
        expect(repeat.body).toMatchObject({ code: 'ESIM_STATE' })
      },
    )
    expect(await walletOf(testbed.db, tenantId)).toMatchObject({ refunds: 0 })
    const { actions } = (await staff.call('GET', `${esim}/actions`)).body
    expect(actions.slice(0, 3)).toMatchObject(
      ['REVOKE', 'UNSUSPEND', 'SUSPEND'].map((action) => ({ action, startedBy: 'OPERATOR', actionStatus: 'DONE' })),
    )
    const { entries } = (await staff.call('GET', `/audit?action=order.revoke_esim&tenantId=${tenantId}`)).body
    expect(entries).toMatchObject([{ subject: orderNo, actor: staff.email, after: { reason } }])
  })

  it('by an operator requires a reason and write access, whatever the action', async () => {
    const { tenantId, esim, reason } = await esimInUse('Guarded')
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    const others = [
      await signedInAs(testbed, 'DEALER_ADMIN', tenantId),
      await signedInAs(testbed, 'DEALER_STAFF', tenantId),
      await signedInAs(testbed, 'OPERATOR_READ_ONLY'),
    ]
    const before = (await staff.call('GET', `${esim}/actions`)).body
    for (const action of ESIM_ACTIONS) {
      for (const other of others) {
        const { status } = await other.call('POST', `${esim}/operator-actions`, { action, reason })
        expect([action, status]).toEqual([action, 403])
      }
      const { status } = await staff.call('POST', `${esim}/operator-actions`, { action })
      expect([action, status]).toEqual([action, 400])
    }
    expect((await staff.call('GET', `${esim}/actions`)).body).toEqual(before)
  })

  it('by a dealer requires one of its own people with the right to buy', async () => {
    const { esim } = await esimInUse('Own people')
    const foreign = await signedInAs(testbed, 'DEALER_ADMIN', await addTenant(testbed, 'Another'))
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    const before = (await staff.call('GET', `${esim}/actions`)).body
    for (const action of ESIM_ACTIONS) {
      const body = { action, transactionId: `by-others-${action}` }
      expect([action, (await foreign.call('POST', `${esim}/actions`, body)).status]).toEqual([action, 404])
      expect([action, (await staff.call('POST', `${esim}/actions`, body)).status]).toEqual([action, 403])
    }
    expect((await staff.call('GET', `${esim}/actions`)).body).toEqual(before)
  })

  it('changes nothing if it is refused, and is resolved later if it is unanswered', async () => {
    const { tenantId, esim, reason } = await esimInUse('Silent')
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const newest = async (caller: typeof staff) => (await caller.call('GET', `${esim}/actions`)).body.actions[0]
    const suspend = { action: 'SUSPEND', reason }
    await supplierAnswers({ suspend: async () => ({ kind: 'refused', message: 'not on this tariff' }) }, async () => {
      const { body } = await staff.call('POST', `${esim}/operator-actions`, suspend)
      expect(body).toEqual({ outcome: 'refused', words: 'not on this tariff' })
    })
    expect(await newest(staff)).toMatchObject({ actionStatus: 'REFUSED', isAnswerMissing: false })
    await supplierAnswers({ suspend: async () => ({ kind: 'unknown', message: 'no answer' }) }, async () => {
      const { body } = await staff.call('POST', `${esim}/operator-actions`, suspend)
      expect(body).toEqual({ outcome: 'unknown', words: 'no answer' })
    })
    expect(await newest(staff)).toMatchObject({ actionStatus: 'PENDING', isAnswerMissing: true })
    expect(await newest(dealer)).toMatchObject({ actionStatus: 'PENDING', isAnswerMissing: false })
    const wrong = { verdict: 'cancelled', evidence: EVIDENCE }
    expect((await staff.call('POST', `${esim}/settle-cancel`, wrong)).body.code).toBe('NOT_IN_QUESTION')
    const { status } = await staff.call('POST', `${esim}/settle-cancel`, { verdict: 'done', evidence: EVIDENCE })
    expect(status).toBe(200)
    expect(await newest(staff)).toMatchObject({ actionStatus: 'DONE', isAnswerMissing: false })
    expect((await staff.call('GET', esim)).body).toMatchObject({ suspended: true })
  })
})
