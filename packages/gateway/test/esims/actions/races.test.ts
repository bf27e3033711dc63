import { randomUUID } from 'node:crypto'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { ActionOutcome } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { startAction } from '#esims/actions/start-action.ts'
import { expireProfiles } from '#esims/life/expire.ts'
import { call, startNode } from '#test/harness/api-node.ts'
import { waitForBlockedStatements } from '#test/harness/databases/statements.ts'
import { makeActionsDue } from '#test/harness/esim-actions.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ActionTestbed, createActionTestbed, type Esim, PRICE } from './action-testbed.ts'

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

const DONE: ActionOutcome = { kind: 'done' }
const orderOf = (transactionId: string) => ({
  transactionId,
  packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }],
})
const order = (transactionId: string) => bed.json(bed.dealer, 'esim/order', orderOf(transactionId))

/** Places orders until the node decides on its cached wallet; if a cached wallet was outdated, that takes a second. */
async function cacheWallet() {
  expect((await order(randomUUID())).code).toBe('000000')
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect((await order(randomUUID())).code).toBe('000000')
}

describe('one transactionId', () => {
  it('belongs to an order or an action, whichever came first', async () => {
    const esim = await bed.delivered()
    await order('N-order')
    for (const body of [{}, { esimTranNo: randomUUID() }]) {
      expect((await bed.act(esim, 'CANCEL', { transactionId: 'N-order', ...body })).code).toBe('200012')
    }
    await bed.act(esim, 'CANCEL', { transactionId: 'N-action' })
    const other = await bed.delivered()
    expect((await order('N-action')).code).toBe('200012')
    expect((await bed.act(other, 'CANCEL', { transactionId: 'N-action' })).code).toBe('200012')
    expect((await bed.act(esim, 'REVOKE', { transactionId: 'N-action' })).code).toBe('200012')
  })

  it('that belongs to an action is refused for an order on a cached wallet', async () => {
    const esim = await bed.delivered()
    await bed.act(esim, 'CANCEL', { transactionId: 'N-cached' })
    await cacheWallet()
    expect((await order('N-cached')).code).toBe('200012')
  })

  it('that is repeated returns the same action, whatever reason or eSIM id is given', async () => {
    const esim = await bed.delivered()
    const first = await bed.act(esim, 'CANCEL', { transactionId: 'N-same', reason: 'one' })
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    const names = [
      {},
      { reason: 'two' },
      { iccid: esim.iccid },
      { esimTranNo: undefined, iccid: `${esim.iccid}F` },
      { esimTranNo: esim.esimTranNo.toUpperCase() },
    ]
    for (const body of names) {
      const again = await bed.act(esim, 'CANCEL', { transactionId: 'N-same', ...body })
      expect([again.code, again.headers['idempotent-replayed']]).toEqual(['000000', 'true'])
      expect(again.data).toEqual(first.data)
    }
    expect((await bed.act(esim, 'CANCEL', { transactionId: 'N-same', iccid: '8900000000000000000' })).code).toBe(
      '200012',
    )
    await bed.run()
    const replay = await bed.act(esim, 'CANCEL', { transactionId: 'N-same' })
    expect(replay.data).toMatchObject({ actionNo: first.data.actionNo, actionStatus: 'DONE', refundAmount: PRICE })
    expect(await bed.run()).toBe(0)
  })

  it('used simultaneously for orders and a cancel on two nodes succeeds once, and otherwise gets 200012', async () => {
    const second = await startNode(new URL(bed.node.deps.config.databaseUrl!).href)
    try {
      for (let n = 0; n < 10; n++) {
        const esim = await bed.delivered()
        const transactionId = `N-once-${n}`
        const answers = await Promise.all([
          order(transactionId),
          bed.act(esim, 'CANCEL', { transactionId }),
          bed.act(esim, 'REVOKE', { transactionId }),
          call(second, bed.dealer, 'esim/order', { body: JSON.stringify(orderOf(transactionId)) }),
          call(second, bed.dealer, 'esim/cancel', {
            body: JSON.stringify({ transactionId, action: 'CANCEL', esimTranNo: esim.esimTranNo }),
          }),
        ])
        const kinds = ['ORDER', 'CANCEL', 'REVOKE', 'ORDER', 'CANCEL']
        const winners = new Set(kinds.filter((_, index) => answers[index]!.code === '000000'))
        expect(winners.size).toBe(1)
        for (const [index, { code }] of answers.entries()) {
          expect([kinds[index], code]).toEqual([kinds[index], winners.has(kinds[index]!) ? '000000' : '200012'])
        }
        const [row] = await bed.node.deps.db.query<{ orders: number; actions: number }>({
          text: `select (select count(*)::int from orders where tenant_id = $1 and transaction_id = $2) as orders,
                   (select count(*)::int from esim_actions where tenant_id = $1 and transaction_id = $2) as actions`,
          values: [bed.dealer.tenantId, transactionId],
        })
        expect(row!.orders + row!.actions).toBe(1)
      }
    } finally {
      await second.stop()
    }
  })

  it('used for fifty identical simultaneous cancels begins one action and asks the supplier once', async () => {
    const esim = await bed.delivered()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => bed.act(esim, 'CANCEL', { transactionId: 'N-fifty' })),
    )
    expect(new Set(answers.map(({ code, data }) => `${code} ${JSON.stringify(data)}`)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    await bed.run()
    await bed.run()
    expect(bed.supplier.calls).toEqual(['CANCEL'])
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })
})

it('of many different simultaneous actions on an eSIM, only one begins', async () => {
  const esim = await bed.delivered()
  const actions = ['CANCEL', 'REVOKE', 'CANCEL', 'REVOKE', 'CANCEL'] as const
  const answers = await Promise.all(actions.map((action) => bed.act(esim, action)))
  const begun = answers.filter(({ code }) => code === '000000')
  expect(begun).toHaveLength(1)
  for (const { code, data } of answers.filter((answer) => answer !== begun[0])) {
    expect([code, data.actionNo]).toEqual(['200002', begun[0]!.data.actionNo])
  }
  await bed.run()
})

describe('a cancel in progress at the supplier', () => {
  /** Cancels the eSIM; runs `meanwhile` between the call to the supplier and its answer. */
  async function cancelWhile(esim: Esim, meanwhile: () => Promise<unknown>, outcome: ActionOutcome = DONE) {
    let answer: (outcome: ActionOutcome) => void = () => {}
    bed.supplier.answer = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    const { transactionId } = (await bed.act(esim, 'CANCEL')).data
    const running = bed.run()
    await waitUntil(async () => bed.supplier.calls.length === 1)
    await meanwhile()
    answer(outcome)
    await running
    return bed.action(esim, transactionId)
  }

  it('ends with the supplier’s answer, even if a download is reported in the meantime', async () => {
    const yes = await bed.delivered()
    const done = await cancelWhile(yes, () => bed.report(yes, { smdpStatus: 'DOWNLOAD' }))
    expect(done).toMatchObject({ actionStatus: 'DONE', refundAmount: PRICE })
    expect(await bed.profile(yes)).toMatchObject({ esimStatus: 'CANCEL' })
    expect(await bed.refunds(yes)).toEqual([PRICE])

    bed.supplier.calls.length = 0
    const no = await bed.delivered()
    const lost = { kind: 'unknown', message: 'lost' } as const
    const open = await cancelWhile(no, () => bed.report(no, { smdpStatus: 'DOWNLOAD' }), lost)
    expect(open).toMatchObject({ actionStatus: 'PENDING' })
    await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId)
    await bed.run()
    expect(bed.supplier.calls).toEqual(['CANCEL']) // a downloaded eSIM is no longer queried
    const refused = { actionStatus: 'REFUSED', failureReason: 'the eSIM was downloaded in the meantime' }
    expect(await bed.action(no, open.transactionId!)).toMatchObject(refused)
    expect(await bed.refunds(no)).toEqual([])
  })

  it('becomes DONE exactly once if the supplier reports it, and the late answer changes nothing', async () => {
    for (const outcome of [
      DONE,
      { kind: 'refused', message: 'no such eSIM' },
      { kind: 'unknown', message: 'lost' },
    ] as const) {
      bed.supplier.calls.length = 0
      const esim = await bed.delivered({ cancellable: true, withinDays: null, feePercent: 20 })
      const action = await cancelWhile(esim, () => bed.report(esim, { esimStatus: 'CANCEL' }), outcome)
      expect(action).toMatchObject({ actionStatus: 'DONE', feeAmount: 9_000, refundAmount: 36_000 })
      expect(await bed.refunds(esim)).toEqual([36_000])
      const events = await bed.events(bed.dealer, 'ESIM_ACTION_UPDATED')
      expect(events.filter(({ actionNo }) => actionNo === action.actionNo)).toHaveLength(1)
    }
  })

  it('is refunded if the supplier confirms after the eSIM has expired', async () => {
    const esim = await bed.delivered()
    const action = await cancelWhile(esim, async () => {
      await bed.set(esim, `install_before = now() - interval '1 second'`)
      await expireProfiles(bed.node.deps, bed.dealer.tenantId)
      expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'UNUSED_EXPIRED' })
    })
    expect(action).toMatchObject({ actionStatus: 'DONE' })
    expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'CANCEL' })
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('prevents another cancel, even by an operator', async () => {
    const esim = await bed.delivered()
    const cancel = {
      tenantId: bed.dealer.tenantId,
      profileId: esim.esimTranNo,
      action: 'CANCEL',
      reason: 'twice',
    } as const
    await cancelWhile(esim, async () => {
      expect((await bed.act(esim, 'CANCEL')).code).toBe('200002')
      const operating = actForOperator(bed.node.deps, cancel, { actor: 'cli:ada' })
      await expect(operating).rejects.toMatchObject({ code: 'ESIM_BUSY' })
    })
    expect(bed.supplier.calls).toEqual(['CANCEL'])
    expect(await bed.refunds(esim)).toEqual([PRICE])
  })

  it('is carried out once if two operators and a dealer request it at the same time', async () => {
    for (let n = 0; n < 5; n++) {
      const esim = await bed.delivered()
      const cancel = {
        tenantId: bed.dealer.tenantId,
        profileId: esim.esimTranNo,
        action: 'CANCEL',
        reason: 'all',
      } as const
      const operate = () => actForOperator(bed.node.deps, cancel, { actor: 'cli:ada' })
      bed.supplier.answer = () => DONE
      await Promise.allSettled([operate(), bed.act(esim, 'CANCEL'), operate(), bed.run()])
      await bed.run()
      expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'CANCEL' })
      expect(await bed.refunds(esim)).toEqual([PRICE])
    }
  })
})

it('a download report and a cancel confirmation saved at the same moment end in one consistent state', async () => {
  for (let n = 0; n < 5; n++) {
    const esim = await bed.delivered()
    bed.supplier.answer = () => DONE
    const { transactionId } = (await bed.act(esim, 'CANCEL')).data
    await Promise.all([bed.run(), bed.report(esim, { smdpStatus: 'INSTALLATION', esimStatus: 'IN_USE' })])
    const { actionStatus } = await bed.action(esim, transactionId)
    const { esimStatus } = await bed.profile(esim)
    expect([
      ['DONE', 'CANCEL', [PRICE]],
      ['REFUSED', 'IN_USE', []],
    ]).toContainEqual([actionStatus, esimStatus, await bed.refunds(esim)])
  }
})

it('after waiting for the wallet lock, an action sees the transactionId that the lock’s holder used', async () => {
  const esim = await bed.delivered()
  const acting = await bed.node.deps.db.tx(async (tx) => {
    await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [bed.dealer.tenantId] })
    const answer = bed.act(esim, 'CANCEL', { transactionId: 'L-held' })
    await waitForBlockedStatements(bed.node.deps.db)
    await tx.query({
      text: `update orders set transaction_id = 'L-held' where tenant_id = $1 and transaction_id = $2`,
      values: [bed.dealer.tenantId, esim.transactionId],
    })
    return { answer }
  })
  expect((await acting.answer).code).toBe('200012')
})

it('an order is not placed if an action takes its transactionId while the order waits for the wallet', async () => {
  const { deps } = bed.node
  for (let n = 0; n < 3; n++) {
    const esim = await bed.delivered()
    await cacheWallet()
    const request = { transactionId: `L-cached-${n}`, action: 'CANCEL', esimTranNo: esim.esimTranNo } as const
    let ordering: ReturnType<typeof order> | undefined
    /** Commits when an order waits for the wallet. */
    const tx: Db['tx'] = (work) =>
      deps.db.tx(async (open) => {
        const result = await work(open)
        await open.query({ text: 'select 1' }) // all statements are executed
        ordering = order(request.transactionId)
        await waitForBlockedStatements(deps.db)
        return result
      })
    await startAction({ ...deps, db: { ...deps.db, tx } }, bed.dealer.tenantId, request)
    expect((await ordering!).code).toBe('200012')
  }
})

it('an answer that arrives after the lease was lost changes neither the action nor the new lease', async () => {
  const esim = await bed.delivered()
  const answers: ((outcome: ActionOutcome) => void)[] = []
  bed.supplier.answer = () => new Promise((resolve) => answers.push(resolve))
  const { transactionId } = (await bed.act(esim, 'CANCEL')).data
  const running: Promise<unknown>[] = []
  for (const calls of [1, 2]) {
    running.push(bed.run())
    await waitUntil(async () => answers.length === calls)
    if (calls === 1) await makeActionsDue(bed.node.deps.db, bed.dealer.tenantId) // its worker appears to be dead
  }
  const lease = await readLease(transactionId)
  expect(lease).toMatchObject({ leaseToken: expect.any(String) })
  answers[0]!({ kind: 'refused', message: 'it was cancelled already' })
  await running[0]
  expect(await bed.action(esim, transactionId)).toMatchObject({ actionStatus: 'PENDING' })
  expect(await readLease(transactionId)).toEqual(lease)
  answers[1]!(DONE)
  await running[1]
  expect(await bed.action(esim, transactionId)).toMatchObject({ actionStatus: 'DONE' })
  expect(await bed.refunds(esim)).toEqual([PRICE])
})

async function readLease(transactionId: string | null) {
  const [lease] = await bed.node.deps.db.query<{ leaseToken: string | null; leaseUntil: Date | null; dueAt: Date }>({
    text: `select lease_token, lease_until, due_at from esim_actions where tenant_id = $1 and transaction_id = $2`,
    values: [bed.dealer.tenantId, transactionId],
  })
  return lease
}
