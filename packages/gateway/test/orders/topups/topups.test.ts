import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { applyReports } from '#esims/apply-reports.ts'
import { compareSupplierList } from '#fulfilment/reconciliation/compare-lists.ts'
import { resolveOrder } from '#fulfilment/review/resolve-order.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { topUp as topUpWallet } from '#wallet/ledger/top-up-wallet.ts'
import { createTopUpTestbed, DAY_PRICE, type Esim, GB, PRICE, type TopUpTestbed } from './topup-testbed.ts'

let bed: TopUpTestbed
let fresh: Pick<TopUpTestbed['supplier'], 'topUp' | 'query'>
beforeAll(async () => {
  bed = await createTopUpTestbed(2)
  fresh = { topUp: bed.supplier.topUp, query: bed.supplier.query }
})
afterEach(() => void Object.assign(bed.supplier, fresh))
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const eventsOf = async (esim: Esim, orderNo: string) => {
  const rows = await bed.node.deps.db.query<{ content: Record<string, unknown> }>({
    text: `select content from events where tenant_id = $1 and content ->> 'orderNo' = $2 order by notify_id`,
    values: [esim.dealer.tenantId, orderNo],
  })
  return rows.map(({ content }) => content)
}

describe('a top-up', () => {
  it('is debited, and adds its volume and days to the existing eSIM', async () => {
    const esim = await bed.delivered()
    await bed.set(
      esim,
      `esim_status = 'USED_UP', order_usage = ${GB}, usage_alerted = 100, expired_time = now() - interval '1 day',
      expiry_alerted_hours = '{24}', activate_time = now() - interval '8 days', usage_update_time = now()`,
    )
    const { code, data } = await bed.topUp(esim, { transactionId: 'T-first', price: PRICE, amount: PRICE })
    expect([code, data]).toMatchObject(['000000', { orderType: 'TOPUP', esimTranNo: esim.esimTranNo, amount: PRICE }])
    const order = await bed.order(esim.dealer, 'T-first', 'DELIVERED')
    expect(order).toMatchObject({ orderType: 'TOPUP', esimTranNo: esim.esimTranNo, profileList: [], refundedAmount: 0 })
    expect(order.packageInfoList).toMatchObject([{ packageCode: 'JP_1_7_TOPUP', deliveredCount: 1, periodNum: null }])
    const profile = await bed.profile(esim)
    expect(profile).toMatchObject({ esimStatus: 'IN_USE', totalVolume: 2 * GB, totalDuration: 14, orderUsage: GB })
    expect(Date.parse(profile.expiredTime)).toBeGreaterThan(Date.now() + 6.9 * 86_400_000)
    expect(bed.supplier.toppedUp.at(-1)).toMatchObject({ productCode: 'JP_1_7_TOPUP', topUp: { iccid: esim.iccid } })
    const list = await bed.json(esim.dealer, 'esim/profile/list', { transactionId: 'T-first' })
    expect(list.data.profileList).toEqual([])
    const events = await eventsOf(esim, data.orderNo)
    expect(events[0]).toMatchObject({ orderType: 'TOPUP', esimTranNo: esim.esimTranNo, sequence: 1 })
    expect(events.at(-1)).toMatchObject({ orderType: 'TOPUP', orderStatus: 'DELIVERED', profiles: [] })
    const own = await eventsOf(esim, esim.orderNo)
    expect(own.at(-1)).toMatchObject({ orderType: 'NEW', profiles: [{ esimStatus: 'IN_USE' }] })
    const [row] = await bed.node.deps.db.query({
      text: 'select usage_alerted, expiry_alerted_hours from profiles where profile_id = $1',
      values: [esim.esimTranNo],
    })
    expect(row).toEqual({ usageAlerted: 50, expiryAlertedHours: [] })
    const statement = await bed.json(esim.dealer, 'account/statement', { kind: 'TOPUP' })
    expect(statement.data.entryList[0]).toMatchObject({ amount: -PRICE, esimTranNo: esim.esimTranNo, kind: 'TOPUP' })
  })

  it('in its supplier’s list is not mistaken for another eSIM', async () => {
    const esim = await bed.delivered()
    await bed.topUp(esim, { transactionId: 'T-listed' })
    await bed.order(esim.dealer, 'T-listed', 'DELIVERED')
    const { key } = bed.supplier.toppedUp.at(-1)!
    const { deps } = bed.node
    const supplied = deps.suppliers.all()[0]!
    const { iccid } = esim
    async function* list() {
      yield { key, iccid, cancelled: false, time: new Date() }
    }
    // A supplier whose top-ups are ordinary purchases.
    bed.supplier.query = () => ({
      kind: 'delivered',
      esim: { iccid, smdpAddress: 'smdp.example.com', matchingId: 'M-LISTED' },
    })
    const listing = { ...supplied, supplier: { ...supplied.supplier, list } }
    expect(await compareSupplierList(deps, listing, 3_600_000)).toBe(0)
    const orphans = await deps.db.query({
      text: 'select iccid from orphans where iccid = $1 union all select iccid from unclaimed_esims where iccid = $1',
      values: [iccid],
    })
    expect(orphans).toEqual([])
  })

  it('is not undone by an earlier report, but a later report counts', async () => {
    const esim = await bed.delivered()
    await bed.set(esim, `esim_status = 'USED_UP', activate_time = now()`)
    await bed.topUp(esim, { transactionId: 'T-late' })
    await bed.order(esim.dealer, 'T-late', 'DELIVERED')
    const [profile] = await bed.node.deps.db.query<{ orderId: string }>({
      text: 'select order_id from profiles where profile_id = $1',
      values: [esim.esimTranNo],
    })
    const report = (offsetMs: number) =>
      applyReports(bed.node.deps, esim.dealer.tenantId, [
        {
          orderId: profile!.orderId,
          profileId: esim.esimTranNo,
          report: { time: new Date(Date.now() + offsetMs), esimStatus: 'USED_UP' as const },
        },
      ])
    await report(-3_600_000)
    expect((await bed.profile(esim)).esimStatus).toBe('IN_USE')
    await report(3_600_000)
    expect((await bed.profile(esim)).esimStatus).toBe('USED_UP')
  })

  it('repeated by esimTranNo or ICCID returns the first top-up; another eSIM or package is a conflict', async () => {
    const [esim, other] = [await bed.delivered(), await bed.delivered()]
    const first = await bed.topUp(esim, { transactionId: 'T-again' })
    const byIccid = await bed.topUp(esim, { transactionId: 'T-again', esimTranNo: undefined, iccid: esim.iccid })
    expect(byIccid.data).toEqual({ ...first.data, orderStatus: byIccid.data.orderStatus })
    expect(byIccid.headers['idempotent-replayed']).toBe('true')
    const upper = await bed.topUp(esim, {
      transactionId: 'T-again',
      esimTranNo: esim.esimTranNo.toUpperCase(),
      amount: 1,
    })
    expect(upper.data.orderNo).toBe(first.data.orderNo)
    const conflicts = [
      await bed.topUp(other, { transactionId: 'T-again' }),
      await bed.topUp(esim, { transactionId: 'T-again', esimTranNo: undefined, iccid: other.iccid }),
      await bed.topUp(esim, { transactionId: 'T-again', packageCode: 'FR_TOPUP' }),
      await bed.topUp(esim, { transactionId: 'T-again', periodNum: 2 }),
      await bed.json(esim.dealer, 'esim/order', {
        transactionId: 'T-again',
        packageInfoList: [{ packageCode: 'JP_1_7_TOPUP', count: 1 }],
      }),
    ]
    expect(conflicts.map(({ code }) => code)).toEqual(Array(5).fill('200012'))
    const order = { transactionId: 'O-then', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
    await bed.json(esim.dealer, 'esim/order', order)
    expect((await bed.topUp(esim, { transactionId: 'O-then', packageCode: 'JP_1_7' })).code).toBe('200012')
  })

  it('is debited and carried out once by two hundred simultaneous calls on two nodes', async () => {
    const esim = await bed.delivered()
    const before = bed.supplier.toppedUp.length
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => bed.topUp(esim, { transactionId: 'T-200' }, bed.nodes[index % 2])),
    )
    expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(['000000']))
    expect(new Set(answers.map(({ data }) => JSON.stringify({ ...data, orderStatus: '' }))).size).toBe(1)
    await bed.order(esim.dealer, 'T-200', 'DELIVERED')
    expect((await bed.profile(esim)).totalVolume).toBe(2 * GB)
    expect(bed.supplier.toppedUp.length - before).toBe(1)
  })

  it('wins or is refused with 200012 when an order and a cancel on two nodes use the same transactionId', async () => {
    const kinds = ['esim/order', 'esim/topup', 'esim/cancel']
    for (let n = 0; n < 8; n++) {
      const esim = await bed.delivered()
      const policy = { cancellable: true, withinDays: null, feePercent: 0 }
      await bed.node.deps.db.query({
        text: `update orders o set package_lines = jsonb_set(package_lines, '{0,cancelPolicy}', $3) from profiles p
               where o.tenant_id = $1 and p.tenant_id = $1 and p.profile_id = $2 and p.order_id = o.order_id`,
        values: [esim.dealer.tenantId, esim.esimTranNo, JSON.stringify(policy)],
      })
      const { esimTranNo } = esim
      const transactionId = `T-one-of-${n}`
      const bodies: Record<string, object> = {
        'esim/order': { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] },
        'esim/topup': { transactionId, esimTranNo, packageCode: 'JP_1_7_TOPUP' },
        'esim/cancel': { transactionId, esimTranNo, action: 'CANCEL' },
      }
      const calls = [...kinds, ...kinds].map((kind, index) => ({ kind, at: bed.nodes[(index + n) % 2]! }))
      const answers = await Promise.all(calls.map(({ kind, at }) => bed.json(esim.dealer, kind, bodies[kind]!, at)))
      const winners = new Set(calls.filter((_, index) => answers[index]!.code === '000000').map(({ kind }) => kind))
      expect(winners.size).toBe(1)
      for (const [index, { kind }] of calls.entries()) {
        expect([kind, answers[index]!.code]).toEqual([kind, winners.has(kind) ? '000000' : '200012'])
      }
    }
  })

  it('without an answer is queried by its key, never sent again, and refunded only if refused', async () => {
    const esim = await bed.delivered()
    bed.supplier.topUp = () => ({ kind: 'unknown', message: 'no answer' })
    const before = bed.supplier.toppedUp.length
    const { data } = await bed.topUp(esim, { transactionId: 'T-lost' })
    await bed.order(esim.dealer, 'T-lost', 'DELIVERED')
    expect(bed.supplier.toppedUp.length - before).toBe(1)
    expect(bed.supplier.queried.at(-1)).toMatchObject({ key: `${data.orderNo}-1`, topUp: { iccid: esim.iccid } })
    bed.supplier.topUp = () => ({ kind: 'refused', message: 'no' })
    await bed.topUp(esim, { transactionId: 'T-refused' })
    expect(await bed.order(esim.dealer, 'T-refused', 'FAILED')).toMatchObject({ refundedAmount: PRICE })
    const statement = await bed.json(esim.dealer, 'account/statement', { kind: 'REFUND', pageSize: 1 })
    expect(statement.data.entryList[0]).toMatchObject({ esimTranNo: esim.esimTranNo, amount: PRICE })
    expect((await bed.profile(esim)).totalVolume).toBe(2 * GB)
  })

  it('under review can be resolved by an operator as topped up, without entering eSIMs', async () => {
    const esim = await bed.delivered()
    const unknown = { kind: 'unknown' as const, message: 'no answer' }
    Object.assign(bed.supplier, { topUp: () => unknown, query: () => unknown })
    const { giveUpAfterMs } = bed.supplier.itself.traits
    bed.supplier.itself.traits.giveUpAfterMs = 0
    await bed.topUp(esim, { transactionId: 'T-review' })
    await bed.order(esim.dealer, 'T-review', 'UNDER_REVIEW')
    bed.supplier.itself.traits.giveUpAfterMs = giveUpAfterMs
    const [row] = await bed.node.deps.db.query<{ orderId: string }>({
      text: `select order_id from orders where tenant_id = $1 and transaction_id = 'T-review'`,
      values: [esim.dealer.tenantId],
    })
    const resolution = { tenantId: esim.dealer.tenantId, orderId: row!.orderId, evidence: 'ticket 17' }
    await expect(
      resolveOrder(bed.node.deps, { ...resolution, verdict: { kind: 'delivered', esims: [] } }, OPERATOR),
    ).rejects.toThrow('top-up')
    await resolveOrder(bed.node.deps, { ...resolution, verdict: { kind: 'toppedUp' } }, OPERATOR)
    expect(await bed.order(esim.dealer, 'T-review', 'DELIVERED')).toMatchObject({ refundedAmount: 0 })
    expect((await bed.profile(esim)).totalVolume).toBe(2 * GB)
  })
})

describe('a top-up is refused', () => {
  const refusal = async (esim: Esim, body: object) => (await bed.topUp(esim, body)).code

  it('if it does not identify one of the tenant’s eSIMs', async () => {
    const [esim, other] = [await bed.delivered(), await bed.delivered()]
    const stranger = await addDealer(bed.node.deps)
    expect(await refusal(esim, { esimTranNo: undefined })).toBe('000105')
    const foreign = { ...esim, dealer: stranger }
    const codes = [
      await refusal(foreign, {}),
      await refusal(foreign, { esimTranNo: undefined, iccid: esim.iccid }),
      await refusal(esim, { esimTranNo: 'no-uuid' }),
      await refusal(esim, { iccid: other.iccid }),
    ]
    expect(codes).toEqual(Array(4).fill('310403'))
  })

  it.each([
    [`esim_status = 'CANCEL'`, 'CANCEL'],
    [`esim_status = 'REVOKED'`, 'REVOKED'],
    [`esim_status = 'UNUSED_EXPIRED'`, 'UNUSED_EXPIRED'],
    [`esim_status = 'USED_EXPIRED'`, 'USED_EXPIRED'],
    [`esim_status = 'IN_USE', smdp_status = 'DELETED'`, 'IN_USE'],
  ])('if the eSIM is in the state %s', async (columns, esimStatus) => {
    const esim = await bed.delivered()
    await bed.set(esim, columns)
    const { code, data } = await bed.topUp(esim, { packageCode: 'NONE' })
    expect([code, data]).toMatchObject(['200002', { esimStatus, suspended: false, actionNo: null, orderNo: null }])
  })

  it('while an action is open on the eSIM', async () => {
    const esim = await bed.delivered()
    await bed.set(esim, `esim_status = 'IN_USE'`)
    const request = { transactionId: 'A-open', action: 'SUSPEND', esimTranNo: esim.esimTranNo }
    Object.assign(bed.supplier.itself, { suspend: async () => ({ kind: 'done' }) })
    const action = await bed.json(esim.dealer, 'esim/suspend', request)
    expect(action.code).toBe('000000')
    const { code, data } = await bed.topUp(esim)
    expect([code, data.actionNo]).toEqual(['200002', action.data.actionNo])
    expect(await refusal(esim, { transactionId: 'A-open' })).toBe('200012')
  })

  it('with the code of the fault that is checked first', async () => {
    const esim = await bed.delivered()
    const topUp = bed.supplier.itself.topUp!
    const guards = { price: 1, amount: 1 }
    expect(await refusal(esim, { packageCode: 'NONE', ...guards })).toBe('310241')
    expect(await refusal(esim, { packageCode: 'JP_OLD_TOPUP', ...guards })).toBe('310244')
    expect(await refusal(esim, { packageCode: 'JP_1_7', ...guards })).toBe('310245')
    expect(await refusal(esim, { packageCode: 'FR_TOPUP', ...guards })).toBe('310245')
    expect(await refusal(esim, { packageCode: 'JP_HUGE_TOPUP', ...guards })).toBe('310245')
    delete bed.supplier.itself.topUp
    expect(await refusal(esim, { packageCode: 'FR_TOPUP', periodNum: 2, ...guards })).toBe('310245')
    const { code, data } = await bed.topUp(esim, { periodNum: 2, ...guards })
    expect([code, data.action]).toEqual(['200015', 'TOPUP'])
    bed.supplier.itself.topUp = topUp
    expect(await refusal(esim, { periodNum: 2, ...guards })).toBe('000108')
    expect(await refusal(esim, guards)).toBe('200005')
    expect(await refusal(esim, { packageCode: 'JP_GONE_TOPUP', price: 1 })).toBe('200005')
    expect(await refusal(esim, { packageCode: 'JP_GONE_TOPUP', amount: 1 })).toBe('200011')
    expect(await refusal(esim, { amount: 1 })).toBe('200006')
  })

  it('if it exceeds the balance or the daily limit, but a failed guard is reported first', async () => {
    const { deps } = bed.node
    const poor = await addDealer(deps, 0)
    const spent = PRICE + 2 * DAY_PRICE
    const opening = BigInt(spent + PRICE)
    await topUpWallet(deps, { tenantId: poor.tenantId, amount: opening, reference: 'opening' }, OPERATOR)
    const esim = await bed.delivered('JP_1_7', poor)
    const pass = await bed.delivered('JP_DAY', poor, 2)
    const limit = (dailySpendLimit: bigint | null) => changeSettings(deps, poor.tenantId, { dailySpendLimit }, OPERATOR)
    const days = { packageCode: 'JP_DAY_TOPUP', periodNum: 5 }
    const total = 5 * DAY_PRICE
    await limit(BigInt(spent))
    expect(await refusal(pass, { ...days, price: 1, amount: 1 })).toBe('200005')
    expect(await refusal(esim, { packageCode: 'JP_GONE_TOPUP', amount: 1 })).toBe('200011')
    expect(await bed.topUp(pass, { ...days, amount: 1 })).toMatchObject({ code: '200006', data: { current: total } })
    const shortfall = { currentBalance: PRICE, requiredAmount: total, shortfall: total - PRICE, currencyCode: 'USD' }
    expect(await bed.topUp(pass, { ...days, amount: total })).toMatchObject({ code: '200007', data: shortfall })
    const overLimit = { code: '200014', data: { limit: spent, spent } }
    expect(await bed.topUp(esim, { transactionId: 'T-limited', amount: PRICE })).toMatchObject(overLimit)
    await limit(null)
    // The refusals left no trace.
    expect((await bed.topUp(esim, { transactionId: 'T-limited' })).data.balanceAfter).toBe(0)
    expect(await refusal(esim, {})).toBe('200007')
    await bed.order(poor, 'T-limited', 'DELIVERED')
  })

  it.each([
    ['310403 before 200002', { iccid: '8985000000000000000' }, '310403', `esim_status = 'CANCEL'`],
    ['200002 before 310241', { packageCode: 'NONE' }, '200002', `esim_status = 'CANCEL'`],
    ['200002 before 310245', { packageCode: 'FR_TOPUP' }, '200002', `esim_status = 'REVOKED'`],
    ['200002 before 200005', { price: 1 }, '200002', `esim_status = 'UNUSED_EXPIRED'`],
  ])('with the earlier of two codes: %s', async (_, body, code, columns) => {
    const esim = await bed.delivered()
    await bed.set(esim, columns)
    expect(await refusal(esim, body)).toBe(code)
  })

  it('with 200002 rather than 200015, and with 200012 before the eSIM is looked up', async () => {
    const esim = await bed.delivered()
    await bed.topUp(esim, { transactionId: 'T-taken' })
    const stranger = { esimTranNo: '00000000-0000-4000-8000-000000000000', packageCode: 'NONE' }
    expect(await refusal(esim, { ...stranger, transactionId: 'T-taken' })).toBe('200012')
    expect(await refusal(esim, stranger)).toBe('310403')
    await bed.order(esim.dealer, 'T-taken', 'DELIVERED')
    const { topUp } = bed.supplier.itself
    delete bed.supplier.itself.topUp
    expect(await refusal(esim, {})).toBe('200015')
    await bed.set(esim, `esim_status = 'CANCEL'`)
    expect(await refusal(esim, {})).toBe('200002')
    bed.supplier.itself.topUp = topUp!
  })

  it('for another tenant’s eSIM, with the same answer as for an eSIM that does not exist', async () => {
    const esim = await bed.delivered()
    await bed.set(esim, `esim_status = 'CANCEL'`)
    const stranger = { ...esim, dealer: await addDealer(bed.node.deps) }
    const absent = await bed.topUp(stranger, { esimTranNo: '00000000-0000-4000-8000-000000000000' })
    for (const body of [{}, { iccid: esim.iccid }, { esimTranNo: undefined, iccid: esim.iccid }]) {
      const { code, message, data } = await bed.topUp(stranger, body)
      expect([code, message, Object.keys(data)]).toEqual(['310403', absent.message, Object.keys(absent.data)])
    }
  })
})

describe('a used-up or expired eSIM', () => {
  it('can be topped up, but an expired eSIM only if the supplier allows that', async () => {
    const usedUp = await bed.delivered()
    await bed.set(usedUp, `esim_status = 'USED_UP', activate_time = now()`)
    expect((await bed.topUp(usedUp, { transactionId: 'T-used-up' })).code).toBe('000000')
    await bed.order(usedUp.dealer, 'T-used-up', 'DELIVERED')
    expect((await bed.profile(usedUp)).esimStatus).toBe('IN_USE')

    const [expired, unused] = [await bed.delivered(), await bed.delivered()]
    const past = `expired_time = now() - interval '1 day', activate_time = now() - interval '8 days'`
    await bed.set(expired, `esim_status = 'USED_EXPIRED', ${past}`)
    await bed.set(unused, `esim_status = 'UNUSED_EXPIRED'`)
    const { traits } = bed.supplier.itself
    expect((await bed.topUp(expired)).code).toBe('200002')
    traits.topsUpExpired = true
    try {
      expect((await bed.topUp(unused)).code).toBe('200002')
      expect((await bed.topUp(expired, { transactionId: 'T-expired' })).code).toBe('000000')
      await bed.order(expired.dealer, 'T-expired', 'DELIVERED')
    } finally {
      delete traits.topsUpExpired
    }
    const { esimStatus, expiredTime } = await bed.profile(expired)
    expect([esimStatus, Date.parse(expiredTime) > Date.now() + 6.9 * 86_400_000]).toEqual(['IN_USE', true])
  })
})
