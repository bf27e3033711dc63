import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { expireProfiles } from '#esims/life/expire.ts'
import { makeActionsDue } from '#test/harness/esim-actions.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ActionTestbed, createActionTestbed, type Esim, PRICE } from './action-testbed.ts'

/*
 * A cancel has three transactions: it begins, its attempt is committed, and the supplier's answer is saved. Each holds the
 * lock of the eSIM's order, so another change to the eSIM happens before, between or after them, or waits for one of them.
 * Each of these sequences, with each of the supplier's answers, ends in one consistent state.
 */

let bed: ActionTestbed
beforeAll(async () => {
  bed = await createActionTestbed()
})
beforeEach(async () => {
  bed.supplier.answer = () => ({ kind: 'done' })
  await bed.run() // leftovers of the previous test
  bed.supplier.calls.length = 0
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

async function operatorCancels(esim: Esim): Promise<void> {
  const { tenantId } = bed.dealer
  const cancel = { tenantId, profileId: esim.esimTranNo, action: 'CANCEL', reason: 'a complaint' } as const
  await actForOperator(bed.node.deps, cancel, { actor: 'cli:ada' }).catch(({ code }) => {
    expect(['ESIM_BUSY', 'ESIM_IN_USE']).toContain(code)
  })
}

/** The other changes to the eSIM. */
const RIVALS: Record<string, (esim: Esim) => Promise<unknown>> = {
  'a notice of a download': (esim) => bed.report(esim, { smdpStatus: 'DOWNLOAD' }),
  'a report of usage': (esim) => bed.report(esim, { smdpStatus: 'ENABLED', esimStatus: 'IN_USE', usage: 900_000_000n }),
  'its expiry': async (esim) => {
    await bed.set(esim, `install_before = now() - interval '1 second'`)
    await expireProfiles(bed.node.deps, bed.dealer.tenantId)
  },
  'another cancel': async (esim) => {
    expect((await bed.act(esim, 'CANCEL', { transactionId: `second-${esim.transactionId}` })).code).toMatch(
      /^(000000|200002)$/,
    )
  },
  'an operator’s cancel': operatorCancels,
}
/** Changes after which the eSIM can no longer be cancelled. */
const USES = ['a notice of a download', 'a report of usage']

const MOMENTS = ['before it begins', 'before its attempt', 'while the supplier is asked', 'after its end'] as const
const OUTCOMES: readonly ActionOutcome[] = [
  { kind: 'done' },
  { kind: 'refused', message: 'it was downloaded' },
  { kind: 'unknown', message: 'lost' },
]

/** Cancels an eSIM, and lets the rival act at the given moment. The supplier gives the same answer to a repeated request. */
async function cancelAgainst(rival: string, moment: (typeof MOMENTS)[number], outcome: ActionOutcome) {
  const esim = await bed.delivered()
  const act = () => RIVALS[rival]!(esim)
  let answer = (_: ActionOutcome) => {}
  bed.supplier.answer = () =>
    new Promise((resolve) => {
      answer = resolve
    })
  /** Runs the due actions, and has the supplier give the answer if it is queried. */
  async function runAndAnswer(meanwhile?: () => Promise<unknown>): Promise<void> {
    const callCount = bed.supplier.calls.length
    let isEnded = false
    const running = bed.run().finally(() => (isEnded = true))
    await waitUntil(async () => isEnded || bed.supplier.calls.length > callCount)
    await meanwhile?.()
    bed.supplier.answer = () => outcome
    answer(outcome)
    await running
  }

  if (moment === 'before it begins') {
    bed.supplier.answer = () => outcome
    await act()
    await bed.run()
  }
  const begun = await bed.act(esim, 'CANCEL')
  if (moment === 'before its attempt') {
    bed.supplier.answer = () => outcome
    await act()
  }
  await runAndAnswer(moment === 'while the supplier is asked' ? act : undefined)
  if (moment === 'after its end') {
    await act()
    await bed.run()
  }
  await expectOneState(esim)
  return { esim, begun, ...(await bed.profile(esim)) }
}

/** Checks that refund, status, actions and events agree, and that every action has a next step. */
async function expectOneState(esim: Esim): Promise<void> {
  const { db } = bed.node.deps
  const values = [bed.dealer.tenantId, esim.esimTranNo]
  const actions = await db.query<{ actionStatus: string; refundAmount: bigint; isScheduled: boolean }>({
    text: `select action_status, refund_amount, due_at is not null and lease_token is null as is_scheduled
           from esim_actions where tenant_id = $1 and profile_id = $2`,
    values,
  })
  const { esimStatus } = await bed.profile(esim)
  const isCancelled = esimStatus === 'CANCEL'
  expect(await bed.refunds(esim)).toEqual(isCancelled ? [PRICE] : [])
  const done = actions.filter(({ actionStatus }) => actionStatus === 'DONE')
  expect(done.map(({ refundAmount }) => Number(refundAmount))).toEqual(isCancelled ? [PRICE] : [])
  const open = actions.filter(({ actionStatus }) => actionStatus === 'PENDING')
  expect(open.length).toBeLessThanOrEqual(isCancelled ? 0 : 1)
  for (const action of open) expect(action).toMatchObject({ isScheduled: true, refundAmount: 0n })
  const events = (await bed.events(bed.dealer, 'ESIM_ACTION_UPDATED')).filter(
    ({ esimTranNo }) => esimTranNo === esim.esimTranNo,
  )
  expect(events.map(({ actionStatus }) => actionStatus).sort()).toEqual(
    actions.flatMap(({ actionStatus }) => (actionStatus === 'PENDING' ? [] : [actionStatus])).sort(),
  )
}

describe.each(Object.keys(RIVALS))('a cancel and %s', (rival) => {
  it.each(MOMENTS.flatMap((moment) => OUTCOMES.map((outcome) => [moment, outcome.kind, outcome] as const)))(
    'end in one consistent state (%s; the supplier answers %s)',
    async (moment, _, outcome) => {
      const { esim, begun, esimStatus } = await cancelAgainst(rival, moment, outcome)
      const isUse = USES.includes(rival)
      const isFirst = moment === 'before it begins'
      if (isFirst && isUse) expect(begun.code).toBe('200002')
      const isAsked = !(isUse && (isFirst || moment === 'before its attempt')) && !(isFirst && rival === 'its expiry')
      expect(bed.supplier.calls.length > 0).toBe(isAsked)
      // Only the supplier's confirmation cancels, and nothing reverses it.
      expect(esimStatus === 'CANCEL').toBe(isAsked && outcome.kind === 'done')

      // An action whose answer is unknown is queried until it ends, unless the eSIM was used.
      bed.supplier.answer = () => ({ kind: 'done' })
      await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
      await bed.run()
      await expectOneState(esim)
      const text = `select from esim_actions where tenant_id = $1 and profile_id = $2 and action_status = 'PENDING'`
      expect(await bed.node.deps.db.query({ text, values: [bed.dealer.tenantId, esim.esimTranNo] })).toEqual([])
    },
  )

  it('end in one consistent state if they happen at the same moment', async () => {
    for (let round = 0; round < 4; round++) {
      const esim = await bed.delivered()
      bed.supplier.answer = () => ({ kind: 'done' })
      const beginning = bed.act(esim, 'CANCEL')
      if (round % 2 === 0) await beginning
      await Promise.all([beginning, bed.run(), RIVALS[rival]!(esim)])
      await bed.run()
      await expectOneState(esim)
    }
  })
})
