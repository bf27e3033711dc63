import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { runDueActions } from '#esims/actions/action-loop.ts'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { expireProfiles } from '#esims/life/expire.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitForBlockedStatements } from '#test/harness/databases/statements.ts'
import { createTopUpTestbed, type Esim, PRICE, type TopUpTestbed } from './topup-testbed.ts'

/*
 * One eSIM is topped up, suspended and cancelled: which of these steps still allow which others, and how the dealer's
 * statement lists them.
 */

let bed: TopUpTestbed
beforeAll(async () => {
  bed = await createTopUpTestbed(2)
  Object.assign(bed.supplier.itself, {
    cancel: async () => ({ kind: 'cancelled' }),
    suspend: async () => ({ kind: 'done' }),
    revoke: async () => ({ kind: 'done' }),
  })
  const cancellable = packageInput({
    packageCode: 'JP_1_7',
    status: 'ON_SALE',
    prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }],
    suppliers: [{ supplier: 'sandbox', productCode: 'JP_1_7' }],
    cancelPolicy: { cancellable: true, withinDays: null, feePercent: 20 },
  })
  await putPackages(bed.node.deps, [cancellable], OPERATOR)
})
afterEach(() => {
  bed.supplier.topUp = () => ({ kind: 'toppedUp' })
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const act = (esim: Esim, action: 'CANCEL' | 'SUSPEND', transactionId: string, node = bed.node) => {
  const request = { transactionId, action, esimTranNo: esim.esimTranNo }
  return bed.json(esim.dealer, `esim/${action.toLowerCase()}`, request, node)
}

it('a suspended eSIM can be topped up, stays suspended, and still expires', async () => {
  const esim = await bed.delivered()
  await bed.set(esim, `esim_status = 'IN_USE', activate_time = now(), expired_time = now() + interval '1 day'`)
  expect((await act(esim, 'SUSPEND', 'W-suspend')).code).toBe('000000')
  await runDueActions(bed.node.deps)
  expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'IN_USE', suspended: true })
  expect((await bed.topUp(esim, { transactionId: 'W-suspended' })).code).toBe('000000')
  await bed.order(esim.dealer, 'W-suspended', 'DELIVERED')
  const toppedUp = await bed.profile(esim)
  expect(toppedUp).toMatchObject({ esimStatus: 'IN_USE', suspended: true })
  expect(Date.parse(toppedUp.expiredTime)).toBeGreaterThan(Date.now() + 7.9 * 86_400_000)
  await bed.set(esim, `expired_time = now() - interval '1 second'`)
  await expireProfiles(bed.node.deps, esim.dealer.tenantId)
  expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'USED_EXPIRED', suspended: true })
})

it('a top-up on a cached wallet that waits for an operator’s revocation is refused', async () => {
  const dealer = await addDealer(bed.node.deps)
  const esim = await bed.delivered('JP_1_7', dealer)
  const { deps } = bed.node
  let toppingUp: ReturnType<TopUpTestbed['topUp']> | undefined
  const waitedFor: Db = {
    ...deps.db,
    tx: (work) =>
      deps.db.tx(async (tx) => {
        const result = await work(tx)
        if (toppingUp === undefined) {
          toppingUp = bed.topUp(esim, { transactionId: 'W-waiting' })
          await waitForBlockedStatements(deps.db)
        }
        return result
      }),
  }
  const { tenantId } = dealer
  await bed.set(esim, `esim_status = 'IN_USE'`)
  const subject = { tenantId, profileId: esim.esimTranNo, action: 'REVOKE', reason: 'as asked' } as const
  expect(await actForOperator({ ...deps, db: waitedFor }, subject, OPERATOR)).toEqual({ kind: 'done' })
  expect((await toppingUp!).code).toBe('200002')
  const [debits] = await deps.db.query({
    text: `select count(*)::int from transfers where tenant_id = $1 and kind = 'ESIM_TOPUP'`,
    values: [tenantId],
  })
  expect(debits).toEqual({ count: 0 })
})

it('of a simultaneous top-up and cancel on two nodes, one is accepted and the other refused with 200002', async () => {
  for (let round = 0; round < 12; round++) {
    const esim = await bed.delivered()
    const transactionIds = { topUp: `W-up-${round}`, cancel: `W-cancel-${round}` }
    // A top-up is faster, so most of them begin a few milliseconds later.
    const [topUp, cancel] = await Promise.all([
      delay(2 * round).then(() => bed.topUp(esim, { transactionId: transactionIds.topUp }, bed.nodes[round % 2])),
      act(esim, 'CANCEL', transactionIds.cancel, bed.nodes[(round + 1) % 2]),
    ])
    expect([topUp.code, cancel.code].sort()).toEqual(['000000', '200002'])
    await runDueActions(bed.node.deps)
    if (topUp.code === '000000') {
      await bed.order(esim.dealer, transactionIds.topUp, 'DELIVERED')
      // A topped-up eSIM can no longer be cancelled.
      expect((await act(esim, 'CANCEL', `${transactionIds.cancel}-late`)).code).toBe('200002')
    } else {
      expect(await bed.profile(esim)).toMatchObject({ esimStatus: 'CANCEL' })
      const asked = bed.supplier.toppedUp.filter(({ topUp: { iccid } }) => iccid === esim.iccid)
      expect(asked).toEqual([])
    }
  }
})

it('the statement shows the eSIM for each top-up and refund, and the action for each cancel', async () => {
  const dealer = await addDealer(bed.node.deps, 100)
  const esim = await bed.delivered('JP_1_7', dealer)
  await bed.topUp(esim, { transactionId: 'W-first' })
  await bed.order(dealer, 'W-first', 'DELIVERED')
  bed.supplier.topUp = () => ({ kind: 'refused', message: 'not now' })
  await bed.topUp(esim, { transactionId: 'W-refused' })
  await bed.order(dealer, 'W-refused', 'FAILED')
  const other = await bed.delivered('JP_1_7', dealer)
  const { actionNo } = (await act(other, 'CANCEL', 'W-cancel')).data
  await runDueActions(bed.node.deps)

  const { entryList } = (await bed.json(dealer, 'account/statement', {})).data
  const shown = entryList.map((entry: Record<string, unknown>) => {
    const { entryNo, kind, amount, transactionId, esimTranNo, actionNo } = entry
    return { entryNo, kind, amount, transactionId, esimTranNo, actionNo }
  })
  const none = { transactionId: null, esimTranNo: null, actionNo: null }
  const order = { ...none, kind: 'ORDER', amount: -PRICE, transactionId: expect.any(String) }
  const { esimTranNo } = esim
  expect(shown).toEqual([
    { ...order, entryNo: '7', kind: 'REFUND', amount: (PRICE * 8) / 10, esimTranNo: other.esimTranNo, actionNo },
    { ...order, entryNo: '6' },
    { ...none, entryNo: '5', kind: 'REFUND', amount: PRICE, transactionId: 'W-refused', esimTranNo },
    { ...none, entryNo: '4', kind: 'TOPUP', amount: -PRICE, transactionId: 'W-refused', esimTranNo },
    { ...none, entryNo: '3', kind: 'TOPUP', amount: -PRICE, transactionId: 'W-first', esimTranNo },
    { ...order, entryNo: '2' },
    { ...none, entryNo: '1', kind: 'WALLET_TOPUP', amount: 1_000_000 },
  ])
  for (const kind of ['TOPUP', 'REFUND']) {
    const { data } = await bed.json(dealer, 'account/statement', { kind })
    expect(data.entryList).toEqual(entryList.filter((entry: { kind: string }) => entry.kind === kind))
  }
})
