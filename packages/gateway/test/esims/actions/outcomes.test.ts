import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { actionLoop } from '#esims/actions/action-loop.ts'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { resolveAction } from '#esims/actions/resolve-action.ts'
import { applyReports } from '#esims/apply-reports.ts'
import { searchAudit } from '#platform/audit/search-audit.ts'
import { makeActionsDue } from '#test/harness/esim-actions.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ActionTestbed, createActionTestbed, type Esim, FREE, LOST, NONE, PRICE } from './action-testbed.ts'

let bed: ActionTestbed
beforeAll(async () => {
  bed = await createActionTestbed()
})
beforeEach(() => {
  bed.supplier.answer = () => ({ kind: 'done' })
  bed.supplier.calls.length = 0
  bed.supplier.traits.giveUpAfterMs = 3_600_000
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const BY = { actor: 'cli:ada' } as const

const eventsOf = async (esim: Esim, type: string) =>
  (await bed.events(esim.dealer, type)).filter(({ orderNo }) => orderNo === esim.orderNo)

describe('a cancel', () => {
  it('stays PENDING until the supplier confirms it, and is then refunded once', async () => {
    const esim = await bed.delivered()
    const before = (await bed.json(bed.dealer, 'account/balance', {})).data.balance
    const { data, code } = await bed.act(esim, 'CANCEL', { transactionId: 'C-yes', reason: 'trip called off' })
    expect([code, data]).toEqual([
      '000000',
      {
        actionNo: expect.stringMatching(/^[0-9A-Z]{26}$/),
        ...{ transactionId: 'C-yes', startedBy: 'DEALER', action: 'CANCEL', actionStatus: 'PENDING' },
        ...{ esimTranNo: esim.esimTranNo, iccid: esim.iccid, orderNo: esim.orderNo },
        ...{ refundAmount: 0, feeAmount: 0, currencyCode: 'USD', failureReason: null },
        keyLabel: null,
        createTime: expect.any(String),
        lastUpdateTime: data.createTime,
      },
    ])
    bed.supplier.answer = async () => {
      expect(await bed.refunds(esim)).toEqual([])
      return { kind: 'done' }
    }
    expect(await bed.run()).toBe(1)
    const done = await bed.ended(esim, 'C-yes')
    expect(done).toMatchObject({ actionNo: data.actionNo, actionStatus: 'DONE', refundAmount: PRICE, feeAmount: 0 })
    expect(await bed.refunds(esim)).toEqual([PRICE])
    expect((await bed.json(bed.dealer, 'account/balance', {})).data.balance).toBe(before + PRICE)
    expect(await bed.profile(esim)).toEqual({ esimStatus: 'CANCEL', suspended: false })
    expect((await eventsOf(esim, 'DELIVERY_UPDATED')).at(-1)).toMatchObject({
      refundedAmount: PRICE,
      profiles: [{ esimTranNo: esim.esimTranNo, esimStatus: 'CANCEL' }],
    })
    const [entry] = (await bed.json(bed.dealer, 'account/statement', { kind: 'REFUND' })).data.entryList
    expect(entry).toMatchObject({ amount: PRICE, actionNo: data.actionNo, esimTranNo: esim.esimTranNo })
    const order = (await bed.json(bed.dealer, 'esim/query', { orderNo: esim.orderNo })).data
    expect(order).toMatchObject({ orderStatus: 'DELIVERED', refundedAmount: PRICE })
  })

  it.each([
    [15, 6_750, 38_250],
    [33, 14_850, 30_150],
    [100, 45_000, 0],
  ])('deducts a fee of %d %% from the refund', async (feePercent, feeAmount, refundAmount) => {
    const esim = await bed.delivered({ ...FREE, feePercent })
    await bed.act(esim, 'CANCEL', { transactionId: `C-${feePercent}` })
    await bed.run()
    expect(await bed.ended(esim, `C-${feePercent}`)).toMatchObject({ actionStatus: 'DONE', feeAmount, refundAmount })
    expect(await bed.refunds(esim)).toEqual([refundAmount])
    expect(await bed.faults()).toEqual([])
  })

  it('changes nothing if the supplier refuses it, and can be requested again', async () => {
    const esim = await bed.delivered()
    bed.supplier.answer = () => ({ kind: 'refused', message: 'it is installed' })
    await bed.act(esim, 'CANCEL', { transactionId: 'C-no' })
    await bed.run()
    const refused = { actionStatus: 'REFUSED', failureReason: 'it is installed', refundAmount: 0, feeAmount: 0 }
    expect(await bed.ended(esim, 'C-no')).toMatchObject(refused)
    expect(await bed.refunds(esim)).toEqual([])
    expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'GOT_RESOURCE' })
    const replay = await bed.act(esim, 'CANCEL', { transactionId: 'C-no' })
    expect([replay.data.actionStatus, replay.headers['idempotent-replayed']]).toEqual(['REFUSED', 'true'])
    bed.supplier.answer = () => ({ kind: 'done' })
    await bed.act(esim, 'CANCEL', { transactionId: 'C-then' })
    await bed.run()
    expect(await bed.ended(esim, 'C-then')).toMatchObject({ actionStatus: 'DONE' })
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('initiated by the supplier is refunded in full, without an action', async () => {
    const esim = await bed.delivered({ ...FREE, feePercent: 50 })
    await report(esim, 'CANCEL')
    expect(await bed.refunds(esim)).toEqual([PRICE])
    expect(await bed.events(bed.dealer, 'ESIM_ACTION_UPDATED')).not.toContainEqual(
      expect.objectContaining({ orderNo: esim.orderNo }),
    )
    await report(esim, 'CANCEL')
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })
})

async function report(esim: Esim, esimStatus: 'CANCEL' | 'IN_USE') {
  const { db } = bed.node.deps
  const [row] = await db.query<{ orderId: string }>({
    text: 'select order_id from profiles where tenant_id = $1 and profile_id = $2',
    values: [esim.dealer.tenantId, esim.esimTranNo],
  })
  const about = { orderId: row!.orderId, profileId: esim.esimTranNo, report: { time: new Date(), esimStatus } }
  await applyReports(bed.node.deps, esim.dealer.tenantId, [about])
}

describe('suspend, unsuspend and revoke', () => {
  it('change the eSIM only after the supplier has carried them out, without a refund', async () => {
    const esim = await bed.delivered(NONE)
    await bed.set(esim, `esim_status = 'IN_USE', smdp_status = 'ENABLED'`)
    const steps = [
      ['SUSPEND', { esimStatus: 'IN_USE', suspended: true }],
      ['UNSUSPEND', { esimStatus: 'IN_USE', suspended: false }],
      ['REVOKE', { esimStatus: 'REVOKED', suspended: false }],
    ] as const
    for (const [action, state] of steps) {
      const updates = (await eventsOf(esim, 'DELIVERY_UPDATED')).length
      await bed.act(esim, action, { transactionId: `S-${action}` })
      await bed.run()
      expect(await bed.ended(esim, `S-${action}`)).toMatchObject({ action, actionStatus: 'DONE', refundAmount: 0 })
      expect(await bed.profile(esim)).toEqual(state)
      const usage = (await bed.json(bed.dealer, 'esim/usage/query', { esimTranNoList: [esim.esimTranNo] })).data
      expect(usage.esimUsageList).toMatchObject([state])
      // Suspension is not a status, so only the revocation causes an order event.
      expect((await eventsOf(esim, 'DELIVERY_UPDATED')).length - updates).toBe(action === 'REVOKE' ? 1 : 0)
    }
    expect(bed.supplier.calls).toEqual(['SUSPEND', 'UNSUSPEND', 'REVOKE'])
    expect(await bed.refunds(esim)).toEqual([])
  })

  it('are refused if the supplier refuses them', async () => {
    const esim = await bed.delivered()
    await bed.set(esim, `esim_status = 'IN_USE'`)
    bed.supplier.answer = () => ({ kind: 'refused', message: 'not on this network' })
    await bed.act(esim, 'SUSPEND', { transactionId: 'S-no' })
    await bed.run()
    expect(await bed.ended(esim, 'S-no')).toMatchObject({
      actionStatus: 'REFUSED',
      failureReason: 'not on this network',
    })
    expect(await bed.profile(esim)).toEqual({ esimStatus: 'IN_USE', suspended: false })
  })
})

describe('an action whose outcome is unknown', () => {
  it('is queried again, and refunded only when the supplier confirms it', async () => {
    const esim = await bed.delivered()
    bed.supplier.answer = () => LOST
    await bed.act(esim, 'CANCEL', { transactionId: 'U-again' })
    await bed.run()
    expect(await bed.run()).toBe(0) // not immediately
    expect(await bed.action(esim, 'U-again')).toMatchObject({ actionStatus: 'PENDING', failureReason: null })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.refunds(esim)).toEqual([])
    bed.supplier.answer = () => ({ kind: 'done' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.ended(esim, 'U-again')).toMatchObject({ actionStatus: 'DONE' })
    expect(bed.supplier.calls).toEqual(['CANCEL', 'CANCEL', 'CANCEL'])
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('goes to review with an alert after the supplier’s time limit, and is still queried', async () => {
    const esim = await bed.delivered()
    bed.supplier.answer = () => LOST
    bed.supplier.traits.giveUpAfterMs = 0
    await bed.act(esim, 'CANCEL', { transactionId: 'U-review' })
    await bed.run()
    expect(await bed.ended(esim, 'U-review')).toMatchObject({
      actionStatus: 'UNDER_REVIEW',
      failureReason: 'no answer',
    })
    const alerts = await bed.node.deps.db.query<{ message: string }>({
      text: `select message from alerts where kind = 'ACTION_UNDER_REVIEW' and data ->> 'orderNo' = $1`,
      values: [esim.orderNo],
    })
    expect(alerts).toMatchObject([{ message: expect.stringContaining('esim settle') }])
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect((await eventsOf(esim, 'ESIM_ACTION_UPDATED')).length).toBe(1)
    bed.supplier.answer = () => ({ kind: 'done' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.ended(esim, 'U-review')).toMatchObject({ actionStatus: 'DONE', failureReason: null })
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('goes to review even if no call was possible', async () => {
    const esim = await bed.delivered()
    const { get } = bed.node.deps.suppliers
    await bed.act(esim, 'REVOKE', { transactionId: 'U-paused' })
    Object.assign(bed.node.deps.suppliers, { get: (name: string) => ({ ...get(name)!, paused: true }) })
    await bed.run()
    expect(await bed.action(esim, 'U-paused')).toMatchObject({ actionStatus: 'PENDING' })
    bed.supplier.traits.giveUpAfterMs = 0
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    Object.assign(bed.node.deps.suppliers, { get })
    expect(await bed.ended(esim, 'U-paused')).toMatchObject({ actionStatus: 'UNDER_REVIEW' })
    expect(bed.supplier.calls).toEqual([])
  })

  it('stays PENDING if the answer is late or an exception occurs', async () => {
    bed.supplier.traits.timeoutMs = 50
    const [slow, broken] = [await bed.delivered(), await bed.delivered()]
    bed.supplier.answer = (_, { iccid }) => {
      if (iccid === broken.iccid) throw new TypeError('it has no code')
      return new Promise(() => {})
    }
    await bed.act(slow, 'CANCEL', { transactionId: 'U-slow' })
    await bed.act(broken, 'CANCEL', { transactionId: 'U-broken' })
    expect(await bed.run()).toBe(2)
    bed.supplier.traits.timeoutMs = 5_000
    for (const [esim, transactionId] of [
      [slow, 'U-slow'],
      [broken, 'U-broken'],
    ] as const) {
      expect(await bed.action(esim, transactionId)).toMatchObject({ actionStatus: 'PENDING' })
      expect(await bed.refunds(esim)).toEqual([])
    }
    bed.supplier.answer = () => ({ kind: 'done' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
  })
})

describe('an operator', () => {
  const operate = (esim: Esim, action: 'CANCEL' | 'SUSPEND' = 'CANCEL') =>
    actForOperator(
      bed.node.deps,
      { tenantId: esim.dealer.tenantId, profileId: esim.esimTranNo, action, reason: 'asked by phone' },
      BY,
    )
  const resolve = (esim: Esim, verdict: 'cancelled' | 'done' | 'kept', actionNo?: string) =>
    resolveAction(
      bed.node.deps,
      { tenantId: esim.dealer.tenantId, profileId: esim.esimTranNo, actionNo, verdict, evidence: 'Ticket 4711' },
      BY,
    )

  it('can cancel regardless of the policy and without a fee, with the usual event', async () => {
    const esim = await bed.delivered({ cancellable: false, withinDays: 1, feePercent: 80 })
    expect(await operate(esim)).toEqual({ kind: 'done' })
    const [event] = await eventsOf(esim, 'ESIM_ACTION_UPDATED')
    const by = { transactionId: null, startedBy: 'OPERATOR', action: 'CANCEL', actionStatus: 'DONE' }
    expect(event).toMatchObject({ ...by, refundAmount: PRICE, feeAmount: 0 })
    const { data } = await bed.json(bed.dealer, 'esim/action/query', { actionNo: event.actionNo })
    expect(data).toEqual(event)
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('is refused with a reason if the state does not allow the action', async () => {
    const esim = await bed.delivered()
    await expect(operate(esim, 'SUSPEND')).rejects.toMatchObject({ code: 'ESIM_STATE' })
    await bed.act(esim, 'REVOKE', { transactionId: 'O-busy' })
    await expect(operate(esim)).rejects.toMatchObject({ code: 'ESIM_BUSY' })
    await bed.run()
    await expect(operate(esim)).rejects.toMatchObject({ code: 'ESIM_IN_USE' })
  })

  it('can have a dealer’s open cancel queried again without losing its fee', async () => {
    const esim = await bed.delivered({ ...FREE, feePercent: 10 })
    bed.supplier.answer = () => LOST
    await bed.act(esim, 'CANCEL', { transactionId: 'O-again' })
    await bed.run()
    bed.supplier.answer = () => ({ kind: 'done' })
    expect(await operate(esim)).toEqual({ kind: 'done' })
    expect(await bed.ended(esim, 'O-again')).toMatchObject({
      actionStatus: 'DONE',
      feeAmount: 4_500,
      refundAmount: 40_500,
    })
    expect(await bed.refunds(esim)).toEqual([40_500])
  })

  it('cannot resolve an action with the supplier’s answer to an earlier action', async () => {
    const esim = await bed.delivered()
    const { data: revoke } = await bed.act(esim, 'REVOKE', { transactionId: 'A-revoke' })
    bed.supplier.answer = () => ({ kind: 'refused', message: 'no' })
    await bed.run()
    bed.supplier.answer = () => LOST
    const { data: cancel } = await bed.act(esim, 'CANCEL', { transactionId: 'A-cancel' })
    await bed.run()
    await expect(resolve(esim, 'done', revoke.actionNo)).rejects.toMatchObject({ code: 'NOT_IN_QUESTION' })
    expect(await bed.refunds(esim)).toEqual([])
    await resolve(esim, 'kept', cancel.actionNo)
    expect(await bed.action(esim, 'A-cancel')).toMatchObject({ actionStatus: 'REFUSED' })
  })

  it('can resolve an unanswered action once, with evidence and an audit entry', async () => {
    for (const [action, verdict, state, refunds] of [
      ['CANCEL', 'cancelled', 'CANCEL', [PRICE]],
      ['CANCEL', 'done', 'CANCEL', [PRICE]],
      ['CANCEL', 'kept', 'GOT_RESOURCE', []],
      ['REVOKE', 'done', 'REVOKED', []],
      ['REVOKE', 'kept', 'GOT_RESOURCE', []],
    ] as const) {
      const esim = await bed.delivered()
      await expect(resolve(esim, 'kept')).rejects.toMatchObject({ code: 'NOT_IN_QUESTION' })
      bed.supplier.answer = () => LOST
      const transactionId = `R-${action}-${verdict}`
      await bed.act(esim, action, { transactionId })
      await expect(resolve(esim, 'kept')).rejects.toMatchObject({ code: 'NOT_IN_QUESTION' }) // not asked yet
      await bed.run()
      if (action === 'REVOKE') {
        await expect(resolve(esim, 'cancelled')).rejects.toMatchObject({ code: 'NOT_IN_QUESTION' })
      }
      await resolve(esim, verdict)
      await expect(resolve(esim, verdict)).rejects.toMatchObject({ code: 'NOT_IN_QUESTION' })
      expect(await bed.ended(esim, transactionId)).toMatchObject({
        actionStatus: verdict === 'kept' ? 'REFUSED' : 'DONE',
      })
      expect(await bed.profile(esim)).toMatchObject({ esimStatus: state })
      expect(await bed.refunds(esim)).toEqual(refunds)
      const filter = { tenantId: bed.dealer.tenantId, subject: esim.orderNo }
      const { rows: entries } = await searchAudit(bed.node.deps.db, filter, { limit: 5 })
      expect(entries).toMatchObject([
        {
          action: action === 'CANCEL' ? 'order.settle_cancel' : 'order.settle_action',
          actor: BY.actor,
          after: { profileId: esim.esimTranNo, verdict, evidence: 'Ticket 4711' },
        },
      ])
    }
    expect(await bed.run()).toBe(0)
  })

  it('cannot resolve an action while its supplier is being queried, or refund a used eSIM', async () => {
    const esim = await bed.delivered()
    let answer: (outcome: typeof LOST) => void = () => {}
    bed.supplier.answer = () => new Promise((done) => (answer = done))
    await bed.act(esim, 'CANCEL', { transactionId: 'R-busy' })
    const running = bed.run()
    await waitUntil(async () => bed.supplier.calls.length === 1)
    await expect(resolve(esim, 'cancelled')).rejects.toMatchObject({ code: 'ESIM_BUSY' })
    await expect(operate(esim)).rejects.toMatchObject({ code: 'ESIM_BUSY' })
    answer(LOST)
    await running
    await bed.set(esim, `smdp_status = 'DOWNLOAD'`)
    await expect(resolve(esim, 'cancelled')).rejects.toMatchObject({ code: 'ESIM_IN_USE' })
    await resolve(esim, 'kept')
    expect(await bed.refunds(esim)).toEqual([])
  })
})

it('the worker begins an action immediately, or at its next poll if a wakeup is lost', async () => {
  const esim = await bed.delivered()
  await bed.act(esim, 'REVOKE', { transactionId: 'W-poll' })
  const loop = actionLoop({ ...bed.node.deps, wake: { wake() {}, on: () => () => {} } })
  await waitUntil(async () => (await bed.action(esim, 'W-poll')).actionStatus === 'DONE')
  await loop.stop(1_000)
})
