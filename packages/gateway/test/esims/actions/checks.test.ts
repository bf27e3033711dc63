import { randomUUID } from 'node:crypto'
import type { EsimAction } from '@dealer-esim/contract'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addDealer } from '#test/harness/api-node.ts'
import { type ActionTestbed, createActionTestbed, type Esim, FREE, NONE } from './action-testbed.ts'

let bed: ActionTestbed
beforeAll(async () => {
  bed = await createActionTestbed()
})
afterEach(() => {
  Object.assign(bed.supplier, { answer: () => ({ kind: 'done' }) })
  delete bed.supplier.traits.cancelsUnseenOnly
})
afterAll(() => bed.close())

const DAY_MS = 86_400_000
const ACTIONS: EsimAction[] = ['CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE']

describe('action parameters', () => {
  it('must state the action, because the signature does not cover the path', async () => {
    const esim = await bed.delivered()
    const body = { transactionId: randomUUID(), esimTranNo: esim.esimTranNo }
    for (const action of ACTIONS) {
      for (const operation of ACTIONS.filter((other) => other !== action)) {
        const answer = await bed.json(bed.dealer, `esim/${operation.toLowerCase()}`, { ...body, action })
        expect([action, operation, answer.code]).toEqual([action, operation, '000108'])
        expect(answer.data.details).toEqual([{ field: 'action', reason: `Send ${operation}.` }])
      }
    }
    expect((await bed.json(bed.dealer, 'esim/cancel', body)).code).toBe('000105')
    expect((await bed.json(bed.dealer, 'esim/cancel', { ...body, action: 'DELETE' })).code).toBe('000108')
    expect((await bed.json(bed.dealer, 'esim/cancel', { ...body, action: 'CANCEL', fee: 1 })).code).toBe('000108')
  })

  it('must identify an eSIM', async () => {
    for (const action of ACTIONS) {
      const answer = await bed.json(bed.dealer, `esim/${action.toLowerCase()}`, { transactionId: 'X', action })
      expect([answer.code, answer.data.details[0].field]).toEqual(['000105', 'esimTranNo'])
    }
    const neither = await bed.json(bed.dealer, 'esim/action/query', {})
    expect([neither.code, neither.data.details[0].field]).toEqual(['000105', 'actionNo'])
  })

  it('may contain an ICCID, which selects the newest eSIM with that ICCID', async () => {
    const [older, newer] = [await bed.delivered(), await bed.delivered()]
    await bed.set(newer, `iccid = '${older.iccid}'`)
    const answer = await bed.act(newer, 'CANCEL', { esimTranNo: undefined, iccid: `${older.iccid}F` })
    expect(answer.data).toMatchObject({ esimTranNo: newer.esimTranNo, iccid: older.iccid, orderNo: newer.orderNo })
    expect((await bed.act(older, 'CANCEL', { iccid: older.iccid })).data.esimTranNo).toBe(older.esimTranNo)
  })
})

interface Check {
  code: string
  breakIt(esim: Esim, body: Record<string, unknown>, action: EsimAction): Promise<void> | void
}

/** A state that allows an action, and a state that does not. */
const ALLOWING: Record<EsimAction, [allowing: string, other: string]> = {
  CANCEL: [`smdp_status = 'RELEASED'`, `smdp_status = 'DOWNLOAD'`],
  SUSPEND: [`esim_status = 'IN_USE'`, `suspended = true`],
  UNSUSPEND: [`esim_status = 'IN_USE', suspended = true`, `suspended = false`],
  REVOKE: [`esim_status = 'IN_USE'`, `esim_status = 'USED_EXPIRED'`],
}

/** An action's faults, in the order of reporting. */
const CHECKS: Check[] = [
  {
    code: '000108',
    breakIt(_, body) {
      body.action = 'DELETE'
    },
  },
  {
    code: '200012',
    breakIt({ transactionId }, body) {
      body.transactionId = transactionId // the transactionId of the eSIM's order, so it is already taken
    },
  },
  {
    code: '310403',
    breakIt(_, body) {
      body.iccid = makeIccid('8985000', 7)
    },
  },
  { code: '200002', breakIt: (esim, _, action) => bed.set(esim, ALLOWING[action][1]) },
  {
    code: '200015',
    breakIt(_, __, action) {
      if (action === 'CANCEL') bed.supplier.traits.cancelsUnseenOnly = true
      else Object.assign(bed.supplier.can, { [action.toLowerCase()]: undefined })
    },
  },
  {
    code: '200017',
    breakIt: (esim) => bed.set(esim, `created_at = created_at - interval '31 days'`),
  },
]

describe.each(ACTIONS)('the order of checks for a %s', (action) => {
  // Only a cancel has a policy.
  const checks = action === 'CANCEL' ? CHECKS : CHECKS.slice(0, -1)

  async function codeOf(broken: Check[]): Promise<string> {
    const esim = await bed.delivered({ ...FREE, withinDays: 30 })
    await bed.set(esim, ALLOWING[action][0])
    const can = { ...bed.supplier.can }
    const body: Record<string, unknown> = { transactionId: randomUUID() }
    for (const check of broken) await check.breakIt(esim, body, action)
    const { code } = await bed.act(esim, action, body)
    delete bed.supplier.traits.cancelsUnseenOnly
    Object.assign(bed.supplier.can, can)
    return code
  }

  it('lets an action without faults begin, and reports each single fault with its own code', async () => {
    expect(await codeOf([])).toBe('000000')
    for (const check of checks) expect(await codeOf([check])).toBe(check.code)
  })

  it.each(checks.slice(1).map((later, i) => [`${checks[i]!.code} before ${later.code}`, checks[i]!, later] as const))(
    '%s',
    async (_, earlier, later) => expect(await codeOf([earlier, later])).toBe(earlier.code),
  )

  it('holds for any two checks that are not adjacent', async () => {
    for (const [i, earlier] of checks.entries()) {
      for (const later of checks.slice(i + 2)) {
        expect([later.code, await codeOf([earlier, later])]).toEqual([later.code, earlier.code])
      }
    }
  })

  it('holds even if all faults occur together', async () => {
    for (const [i, check] of checks.entries()) expect(await codeOf(checks.slice(i))).toBe(check.code)
  })

  it('comes after a repeated action has been recognised', async () => {
    const esim = await bed.delivered({ ...FREE, withinDays: 30 })
    await bed.set(esim, ALLOWING[action][0])
    const can = { ...bed.supplier.can }
    const body = { transactionId: randomUUID() }
    const first = await bed.act(esim, action, body)
    for (const check of checks.slice(3)) await check.breakIt(esim, {}, action)
    const again = await bed.act(esim, action, body)
    Object.assign(bed.supplier.can, can)
    expect([again.code, again.headers['idempotent-replayed']]).toEqual(['000000', 'true'])
    expect(again.data.actionNo).toBe(first.data.actionNo)
    const other = ACTIONS.find((each) => each !== action)!
    expect((await bed.act(esim, other, body)).code).toBe('200012')
  })
})

describe('a refused action', () => {
  it('leaves no trace, so its transactionId can be used again', async () => {
    const esim = await bed.delivered()
    await bed.set(esim, `smdp_status = 'DOWNLOAD'`)
    expect((await bed.act(esim, 'CANCEL', { transactionId: 'again' })).code).toBe('200002')
    expect((await bed.json(bed.dealer, 'esim/action/query', { transactionId: 'again' })).code).toBe('200013')
    await bed.set(esim, `smdp_status = 'RELEASED'`)
    expect((await bed.act(esim, 'CANCEL', { transactionId: 'again' })).code).toBe('000000')
  })

  it('from another tenant gets the same answer as for a nonexistent eSIM or action', async () => {
    const stranger = await addDealer(bed.node.deps)
    const esim = await bed.delivered()
    const theirs = { ...esim, dealer: stranger }
    const absent = await bed.act(theirs, 'CANCEL', { esimTranNo: randomUUID() })
    for (const body of [{}, { iccid: esim.iccid }, { esimTranNo: undefined, iccid: esim.iccid }]) {
      const answer = await bed.act(theirs, 'CANCEL', body)
      expect([answer.code, answer.message, Object.keys(answer.data)]).toEqual([
        '310403',
        absent.message,
        Object.keys(absent.data),
      ])
    }
    const { actionNo, transactionId } = (await bed.act(esim, 'CANCEL')).data
    for (const which of [{ actionNo }, { transactionId }, { actionNo, transactionId }]) {
      expect((await bed.json(stranger, 'esim/action/query', which)).code).toBe('200013')
      expect((await bed.json(bed.dealer, 'esim/action/query', which)).code).toBe('000000')
    }
  })
})

describe('esim/action/query', () => {
  it('finds only actions, while esim/query finds only orders', async () => {
    const esim = await bed.delivered()
    const { actionNo, transactionId } = (await bed.act(esim, 'CANCEL')).data
    const query = (operation: string, which: object) => bed.json(bed.dealer, operation, which)
    expect((await query('esim/query', { transactionId })).code).toBe('200013')
    expect((await query('esim/action/query', { transactionId: esim.transactionId })).code).toBe('200013')
    expect((await query('esim/action/query', { actionNo: esim.orderNo })).code).toBe('200013')
    expect((await query('esim/action/query', { actionNo, transactionId: 'other' })).code).toBe('200013')
    expect((await query('esim/action/query', { actionNo: 'nothing' })).code).toBe('200013')
    expect((await query('esim/action/query', { actionNo, transactionId })).data.actionNo).toBe(actionNo)
    const another = (await bed.act(await bed.delivered(), 'REVOKE')).data
    const ofTwo = { actionNo, transactionId: another.transactionId }
    expect((await query('esim/action/query', ofTwo)).code).toBe('200013')
  })

  it('reports a missing parameter first, then a malformed one, then an unknown action', async () => {
    const ask = async (which: object) => (await bed.json(bed.dealer, 'esim/action/query', which)).code
    expect(await ask({})).toBe('000105')
    expect(await ask({ esimTranNo: 'E' })).toBe('000105')
    expect(await ask({ actionNo: 'nothing', esimTranNo: 'E' })).toBe('000108')
    expect(await ask({ transactionId: 'a b' })).toBe('000108')
    expect(await ask({ transactionId: 'x'.repeat(65) })).toBe('000107')
    expect(await ask({ actionNo: 'nothing', transactionId: 'a b' })).toBe('000108')
    expect(await ask({ actionNo: 'nothing' })).toBe('200013')
  })
})

/** The states that allow each action. */
const STATES: [state: string, allowed: EsimAction[]][] = [
  [`esim_status = 'GOT_RESOURCE', smdp_status = 'RELEASED'`, ['CANCEL', 'REVOKE']],
  [`esim_status = 'GOT_RESOURCE', smdp_status = null`, ['CANCEL', 'REVOKE']],
  [`esim_status = 'GOT_RESOURCE', smdp_status = 'DOWNLOAD'`, ['REVOKE']],
  [`esim_status = 'GOT_RESOURCE', smdp_status = 'RELEASED', topped_up_at = now()`, ['REVOKE']],
  [`esim_status = 'IN_USE', smdp_status = 'ENABLED'`, ['SUSPEND', 'REVOKE']],
  [`esim_status = 'IN_USE', smdp_status = 'ENABLED', suspended = true`, ['UNSUSPEND', 'REVOKE']],
  [`esim_status = 'USED_UP', smdp_status = 'ENABLED'`, ['REVOKE']],
  [`esim_status = 'USED_EXPIRED', smdp_status = 'ENABLED'`, []],
  [`esim_status = 'UNUSED_EXPIRED', smdp_status = 'RELEASED'`, []],
  [`esim_status = 'CANCEL', smdp_status = 'RELEASED'`, []],
  [`esim_status = 'REVOKED', smdp_status = 'RELEASED'`, []],
]

it.each(STATES)('an eSIM with %s allows %j', async (state, allowed) => {
  for (const action of ACTIONS) {
    const esim = await bed.delivered()
    await bed.set(esim, state)
    const answer = await bed.act(esim, action)
    expect([action, answer.code]).toEqual([action, allowed.includes(action) ? '000000' : '200002'])
    if (answer.code === '200002') {
      const { esimStatus, suspended } = await bed.profile(esim)
      expect(answer.data).toMatchObject({ esimStatus, suspended, actionNo: null, orderNo: null })
    }
  }
})

it('an open action blocks every other action, and the refusal names the open action', async () => {
  for (const status of ['PENDING', 'UNDER_REVIEW']) {
    const esim = await bed.delivered()
    const { actionNo } = (await bed.act(esim, 'REVOKE')).data
    await bed.node.deps.db.query({
      text: `update esim_actions set action_status = $2, due_at = null where tenant_id = $1 and due_at is not null`,
      values: [bed.dealer.tenantId, status],
    })
    for (const action of ACTIONS) {
      const answer = await bed.act(esim, action)
      expect([answer.code, answer.data.actionNo, answer.data.orderNo]).toEqual(['200002', actionNo, null])
    }
  }
})

it('an open top-up blocks every action, and the refusal names the top-up', async () => {
  const topUpOf = async (esim: Esim, status: string) => {
    const topUp = await bed.delivered()
    await bed.node.deps.db.query({
      text: `update orders set order_type = 'TOPUP', topped_up_profile_id = $3, order_status = $4, due_at = null
             where tenant_id = $1 and transaction_id = $2`,
      values: [bed.dealer.tenantId, topUp.transactionId, esim.esimTranNo, status],
    })
    return topUp.orderNo
  }
  for (const status of ['PAID', 'ALLOCATING', 'UNDER_REVIEW']) {
    const esim = await bed.delivered()
    const orderNo = await topUpOf(esim, status)
    for (const action of ACTIONS) {
      const answer = await bed.act(esim, action)
      expect([answer.code, answer.data.actionNo, answer.data.orderNo]).toEqual(['200002', null, orderNo])
    }
  }
  const esim = await bed.delivered()
  await topUpOf(esim, 'FAILED')
  expect((await bed.act(esim, 'CANCEL')).code).toBe('000000')
})

it('an action that the supplier does not support is refused immediately, and the refusal names it', async () => {
  const { suspend, unsuspend, revoke } = bed.supplier.can
  Object.assign(bed.supplier.can, { suspend: undefined, unsuspend: undefined, revoke: undefined })
  bed.supplier.traits.cancelsUnseenOnly = true
  for (const action of ACTIONS) {
    const esim = await bed.delivered()
    if (action === 'SUSPEND' || action === 'UNSUSPEND')
      await bed.set(esim, `esim_status = 'IN_USE', suspended = ${action === 'UNSUSPEND'}`)
    const answer = await bed.act(esim, action)
    expect([answer.status, answer.code, answer.data.action]).toEqual([422, '200015', action])
  }
  Object.assign(bed.supplier.can, { suspend, unsuspend, revoke })
})

describe('the cancel policy', () => {
  it('is taken from the order; without a policy, the API cannot cancel an eSIM', async () => {
    for (const policy of [NONE, { ...FREE, cancellable: false }]) {
      const answer = await bed.act(await bed.delivered(policy), 'CANCEL')
      expect([answer.status, answer.code, answer.data.cancellableUntil]).toEqual([422, '200017', null])
    }
  })

  it('ends withinDays days after the delivery, or never if withinDays is null', async () => {
    const late = await bed.delivered({ ...FREE, withinDays: 2 })
    await bed.set(late, `created_at = now() - interval '2 days 1 second'`)
    const answer = await bed.act(late, 'CANCEL')
    expect(answer.code).toBe('200017')
    const until = new Date(answer.data.cancellableUntil).getTime()
    expect(Math.abs(until - (Date.now() - 1_000))).toBeLessThan(30_000)
    const early = await bed.delivered({ ...FREE, withinDays: 2 })
    await bed.set(early, `created_at = now() - interval '${2 * DAY_MS - 60_000} milliseconds'`)
    expect((await bed.act(early, 'CANCEL')).code).toBe('000000')
    const unlimited = await bed.delivered(FREE)
    await bed.set(unlimited, `created_at = now() - interval '900 days'`)
    expect((await bed.act(unlimited, 'CANCEL')).code).toBe('000000')
  })

  it('does not restrict the other actions', async () => {
    expect((await bed.act(await bed.delivered(NONE), 'REVOKE')).code).toBe('000000')
  })
})
