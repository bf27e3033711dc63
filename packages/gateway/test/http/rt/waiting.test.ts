import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed(2)
})
afterAll(() => bed.close())

/** Makes the supplier answer only when the test allows it. */
function held<Answer>(answer: Answer) {
  let release = () => {}
  const asked = new Promise<Answer>((resolve) => {
    release = () => resolve(answer)
  })
  return { answer: () => asked, release: () => release() }
}

const openActions = (esimTranNo: string) => bed.count('esim_actions where profile_id = $1', esimTranNo)
const topUpBody = (esimTranNo: string, more: object = {}) => ({ esimTranNo, packageCode: 'JP_1_7_TOPUP', ...more })

/** A day pass for at least one day, so that calls may omit the days. */
const DAYS_TOPUP = packageInput({
  ...{ packageCode: 'JP_DAY_1_TOPUP', slug: 'japan-days', packageType: 'TOPUP', status: 'ON_SALE' },
  ...{ dataType: 'DAILY', duration: 1, periodNumMin: 1, periodNumMax: 30 },
  prices: [{ currencyCode: 'USD', price: 10_000, retailPrice: null }],
})

/** Sends a top-up whose answer afterwards counts as lost. @returns the amount debited */
async function debitOfUnanswered(body: { esimTranNo: string; [member: string]: unknown }): Promise<number> {
  const before = await bed.balance()
  expect([body, await bed.codeOf('esim/topup', body)]).toEqual([body, null])
  await bed.node.deps.db.query({
    text: `update orders set sent = coalesce(sent, '{}') || '{"isUnanswered": true}'
           where order_id = (select max(order_id::text)::uuid from orders where topped_up_profile_id = $1)`,
    values: [body.esimTranNo],
  })
  return before - (await bed.balance())
}

describe('an action', () => {
  test('succeeds once the supplier has carried it out, and a repeat causes no further action', async () => {
    const esim = await bed.cancellable()
    const before = await bed.balance()
    expect(await bed.post('esim/cancel', { iccid: esim.iccid, esimTranNo: '' })).toMatchObject({
      ...{ success: true, errorCode: null, obj: {} },
    })
    expect(await bed.balance()).toBe(before + 45_000)
    expect(await bed.codeOf('esim/cancel', { esimTranNo: esim.esimTranNo })).toBe(null)
    expect(await openActions(esim.esimTranNo)).toBe(1)
    expect(await bed.balance()).toBe(before + 45_000)
    expect(await bed.codeOf('esim/suspend', { esimTranNo: esim.esimTranNo })).toBe('200002')
  })

  test('suspends the eSIM or lifts its suspension, and each repeat succeeds without another action', async () => {
    const { esimTranNo } = await bed.delivered()
    await bed.node.deps.db.query({
      text: `update profiles set esim_status = 'IN_USE' where profile_id = $1`,
      values: [esimTranNo],
    })
    for (const operation of ['esim/suspend', 'esim/unsuspend']) {
      expect(await bed.codeOf(operation, { esimTranNo })).toBe(null)
      expect(await bed.codeOf(operation, { esimTranNo })).toBe(null)
    }
    expect(await openActions(esimTranNo)).toBe(2)
    expect(await bed.codeOf('esim/revoke', { esimTranNo })).toBe(null)
    expect(await bed.codeOf('esim/revoke', { esimTranNo })).toBe(null)
    expect(await bed.codeOf('esim/cancel', { esimTranNo })).toBe('200002')
  })

  test('that the supplier refuses is answered with 200002', async () => {
    const { esimTranNo } = await bed.cancellable()
    bed.actions.answer = () => ({ kind: 'refused', message: 'no' })
    expect(await bed.codeOf('esim/cancel', { esimTranNo })).toBe('200002')
    bed.actions.answer = () => ({ kind: 'done' })
    expect(await bed.codeOf('esim/cancel', { esimTranNo })).toBe(null)
  })

  test('started through the dealer API is returned while it is open', async () => {
    const { esimTranNo } = await bed.cancellable()
    const supplier = held({ kind: 'done' as const })
    const calls = bed.actions.calls.length
    bed.actions.answer = supplier.answer
    const first = await bed.json(bed.dealer, 'esim/cancel', { transactionId: 'C-1', action: 'CANCEL', esimTranNo })
    expect(first.data.actionStatus).toBe('PENDING')
    const repeats = Array.from({ length: 20 }, () => bed.post('esim/cancel', { esimTranNo }))
    expect(await bed.codeOf('esim/revoke', { esimTranNo })).toBe('200002')
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo))).toBe('200002')
    supplier.release()
    for (const { success } of await Promise.all(repeats)) expect(success).toBe(true)
    bed.actions.answer = () => ({ kind: 'done' })
    expect([await openActions(esimTranNo), bed.actions.calls.length]).toEqual([1, calls + 1])
  })

  test('is refused with 310403 for another dealer’s eSIM, and with 000105 without an eSIM', async () => {
    const { esimTranNo, iccid } = await bed.cancellable()
    const stranger = await addDealer(bed.node.deps)
    expect(await bed.codeOf('esim/cancel', { esimTranNo: 'none' })).toBe('310403')
    expect(await bed.codeOf('esim/cancel', { esimTranNo, iccid }, {}, stranger)).toBe('310403')
    expect(await bed.codeOf('esim/cancel', { esimTranNo: '', iccid: null })).toBe('000105')
  })
})

describe('a top-up', () => {
  test('returns the topped-up eSIM, and a repeat is not debited', async () => {
    const { esimTranNo, iccid } = await bed.delivered()
    const before = await bed.balance()
    const body = topUpBody(esimTranNo, { transactionId: 'top up №1', amount: 0 })
    const { success, obj } = await bed.post('esim/topup', body)
    expect(success).toBe(true)
    expect(Object.keys(obj).sort()).toEqual(
      ['expiredTime', 'iccid', 'orderUsage', 'topUpEsimTranNo', 'totalDuration', 'totalVolume', 'transactionId'].sort(),
    )
    const esim = await bed.profile({ ...(await bed.delivered()), esimTranNo })
    expect(obj).toMatchObject({ transactionId: 'top up №1', iccid, totalVolume: esim.totalVolume, totalDuration: 14 })
    expect((await bed.post('esim/topup', body)).obj.transactionId).toBe('top up №1')
    const slug = (await bed.post('package/list', { type: 'TOPUP', packageCode: 'JP_1_7_TOPUP' })).obj.packageList[0]
      .slug
    expect(await bed.codeOf('esim/topup', { ...body, packageCode: slug })).toBe(null)
    expect(await bed.balance()).toBe(before - 2 * 45_000)
    expect(await bed.codeOf('esim/topup', { ...body, packageCode: 'JP_OLD_TOPUP' })).toBe('310402')
  })

  test('that the supplier refuses is answered with 200009 and refunded', async () => {
    const { esimTranNo } = await bed.delivered()
    const before = await bed.balance()
    bed.supplier.topUp = () => ({ kind: 'refused', message: 'no' })
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo, { transactionId: 'refused' }))).toBe('200009')
    expect(await bed.balance()).toBe(before)
    bed.supplier.topUp = () => ({ kind: 'toppedUp' })
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo, { transactionId: 'refused' }))).toBe('200009')
    expect(await bed.balance()).toBe(before)
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo, { packageCode: 'FR_TOPUP' }))).toBe('310243')
  })

  test('without a transactionId counts as a repeat only if the days are sent in the same form', async () => {
    await putPackages(bed.node.deps, [DAYS_TOPUP], OPERATOR)
    const { esimTranNo } = await bed.delivered('JP_DAY', bed.dealer, 2)
    const debitOf = async (periodNum?: number) => {
      const days = periodNum === undefined ? {} : { periodNum }
      return debitOfUnanswered(topUpBody(esimTranNo, { packageCode: DAYS_TOPUP.packageCode, ...days }))
    }
    expect(await debitOf(5)).toBe(5 * 10_000)
    expect(await debitOf(5)).toBe(0)
    expect(await debitOf()).toBe(10_000)
    expect(await debitOf()).toBe(0)
    expect(await debitOf(1)).toBe(10_000)
    expect(await debitOf(1)).toBe(0)
  })

  test('without a transactionId can be repeated by its slug, even if the package is off sale', async () => {
    await putPackages(bed.node.deps, [DAYS_TOPUP], OPERATOR)
    const { esimTranNo } = await bed.delivered('JP_DAY', bed.dealer, 2)
    const body = { esimTranNo, slug: 'japan-days', periodNum: 3 }
    expect(await debitOfUnanswered(body)).toBe(3 * 10_000)
    await setOnSale(bed.node.deps, { packageCodes: [String(DAYS_TOPUP.packageCode)] }, false, OPERATOR)
    expect(await debitOfUnanswered(body)).toBe(0)
    const other = await bed.delivered('JP_DAY', bed.dealer, 2)
    expect(await bed.codeOf('esim/topup', { ...body, esimTranNo: other.esimTranNo })).not.toBe(null)
  })
})

/* These tests run concurrently, because each takes ten seconds. */
describe.concurrent('with a slow supplier', () => {
  test('an action that is still open after ten seconds is answered with 900001', async () => {
    const dealer = await addDealer(bed.node.deps)
    const { esimTranNo } = await bed.cancellable(dealer)
    const supplier = held({ kind: 'done' as const })
    bed.actions.answer = supplier.answer
    const begun = performance.now()
    expect(await bed.codeOf('esim/cancel', { esimTranNo }, {}, dealer)).toBe('900001')
    expect(performance.now() - begun).toBeGreaterThan(9_900)
    const repeat = bed.codeOf('esim/cancel', { esimTranNo }, {}, dealer)
    supplier.release()
    expect(await repeat).toBe(null)
    bed.actions.answer = () => ({ kind: 'done' })
    expect(await openActions(esimTranNo)).toBe(1)
  }, 30_000)

  test('a top-up without a transactionId is debited once, however often the request arrives', async () => {
    const esim = await bed.delivered()
    const { esimTranNo, iccid } = esim
    const before = await bed.balance()
    const supplier = held({ kind: 'toppedUp' as const })
    bed.supplier.topUp = supplier.answer
    const calls = Array.from({ length: 12 }, (_, index) => {
      const body = index % 3 === 0 ? { iccid, packageCode: 'JP_1_7_TOPUP' } : topUpBody(esimTranNo)
      return bed.post('esim/topup', body, {}, bed.dealer, bed.nodes[index % 2])
    })
    for (const { errorCode } of await Promise.all(calls)) expect(errorCode).toBe('900001')
    expect(await bed.balance()).toBe(before - 45_000)
    supplier.release()
    await waitUntil(async () => (await bed.profile(esim)).totalDuration === 14)
    const repeat = { iccid, packageCode: 'JP_1_7_TOPUP', transactionId: null }
    expect(await bed.codeOf('esim/topup', repeat)).toBe(null)
    expect(await bed.balance()).toBe(before - 45_000)
    bed.supplier.topUp = () => ({ kind: 'toppedUp' })
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo))).toBe(null)
    expect(await bed.balance()).toBe(before - 2 * 45_000)
  }, 30_000)
})

test('a stopping gateway answers waiting callers with 900001, and another node serves their repeats', async () => {
  const { esimTranNo } = await bed.cancellable()
  const supplier = held({ kind: 'done' as const })
  bed.actions.answer = supplier.answer
  const [, second] = bed.nodes
  const waiting = bed.post('esim/cancel', { esimTranNo }, {}, bed.dealer, second)
  await waitUntil(async () => (await openActions(esimTranNo)) === 1)
  // A caller of the other node, who is not released and so waits for ten seconds.
  const other = await bed.cancellable()
  const elsewhere = bed.post('esim/cancel', { esimTranNo: other.esimTranNo })
  const stopped = second!.stop()
  expect(await Promise.race([waiting, elsewhere.then(() => 'answered elsewhere')])).toMatchObject({
    errorCode: '900001',
  })
  await stopped
  supplier.release()
  await elsewhere
  expect(await bed.codeOf('esim/cancel', { esimTranNo })).toBe(null)
})
