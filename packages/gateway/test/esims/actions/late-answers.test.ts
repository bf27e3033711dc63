import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { resolveAction } from '#esims/actions/resolve-action.ts'
import { makeActionsDue } from '#test/harness/esim-actions.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ActionTestbed, createActionTestbed, LOST, PRICE } from './action-testbed.ts'

/* A supplier that loses its answer to an action, and its later report. */

let bed: ActionTestbed
beforeAll(async () => {
  bed = await createActionTestbed()
})
beforeEach(() => {
  bed.supplier.answer = () => ({ kind: 'done' })
  bed.supplier.calls.length = 0
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const BY = { actor: 'cli:ada' } as const

describe('an action whose answer was lost', () => {
  it('is not refused while the earlier call may still be carried out', async () => {
    const esim = await bed.delivered()
    bed.supplier.traits.graceMs = 60_000
    const refusal: ActionOutcome = { kind: 'refused', message: 'not in this state' }
    bed.supplier.answer = () => LOST
    await bed.act(esim, 'CANCEL', { transactionId: 'U-grace' })
    await bed.run()
    bed.supplier.answer = () => refusal
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.action(esim, 'U-grace')).toMatchObject({ actionStatus: 'PENDING' })
    expect(await bed.run()).toBe(0) // not before that call has ended
    bed.supplier.answer = () => ({ kind: 'done' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.ended(esim, 'U-grace')).toMatchObject({ actionStatus: 'DONE' })
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('is refused once no earlier call can still be carried out', async () => {
    const esim = await bed.delivered()
    bed.supplier.traits.graceMs = 60_000
    bed.supplier.answer = () => LOST
    await bed.act(esim, 'CANCEL', { transactionId: 'U-quiet' })
    await bed.run()
    await bed.node.deps.db.query({
      text: `update supplier_attempts set finished_at = finished_at - interval '61 s' where operation = 'CANCEL'`,
    })
    bed.supplier.answer = () => ({ kind: 'refused', message: 'not in this state' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.ended(esim, 'U-quiet')).toMatchObject({
      actionStatus: 'REFUSED',
      failureReason: 'not in this state',
    })
    expect(await bed.refunds(esim)).toEqual([])
  })

  it('is DONE if a report shows the eSIM as revoked before the supplier is queried again', async () => {
    const esim = await bed.delivered()
    bed.supplier.answer = () => LOST
    await bed.act(esim, 'REVOKE', { transactionId: 'U-revoked' })
    await bed.run()
    await bed.report(esim, { esimStatus: 'REVOKED' })
    bed.supplier.answer = () => ({ kind: 'done' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(await bed.ended(esim, 'U-revoked')).toMatchObject({ actionStatus: 'DONE' })
    expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'REVOKED' })
  })
})

describe('an operator', () => {
  it('is alerted if the supplier confirms an action after it was resolved as not done', async () => {
    const esim = await bed.delivered()
    let answer = (_: ActionOutcome) => {}
    bed.supplier.answer = () => new Promise((resolve) => (answer = resolve))
    await bed.act(esim, 'CANCEL', { transactionId: 'L-late' })
    const running = bed.run()
    await waitUntil(async () => bed.supplier.calls.length === 1)
    // The database was unavailable for longer than the lease.
    const late = `update esim_actions set lease_until = now() - interval '1 second' where tenant_id = $1 and transaction_id = 'L-late'`
    await bed.node.deps.db.query({ text: late, values: [bed.dealer.tenantId] })
    await resolveAction(
      bed.node.deps,
      { tenantId: esim.dealer.tenantId, profileId: esim.esimTranNo, verdict: 'kept', evidence: 'Ticket 4711' },
      BY,
    )
    answer({ kind: 'done' })
    await running
    expect(await bed.ended(esim, 'L-late')).toMatchObject({ actionStatus: 'REFUSED' })
    expect(await bed.refunds(esim)).toEqual([])
    const alerts = await bed.node.deps.db.query<{ message: string }>({
      text: `select message from alerts where kind = 'ACTION_UNDER_REVIEW' and data ->> 'orderNo' = $1`,
      values: [esim.orderNo],
    })
    expect(alerts).toMatchObject([{ message: expect.stringContaining('esim cancel') }])
    bed.supplier.answer = () => ({ kind: 'done' })
    const cancel = { action: 'CANCEL', reason: 'asked by phone' } as const
    expect(
      await actForOperator(
        bed.node.deps,
        { tenantId: esim.dealer.tenantId, profileId: esim.esimTranNo, ...cancel },
        BY,
      ),
    ).toEqual({ kind: 'done' })
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })
})
