import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { approveAdjustment, proposeAdjustment } from '#wallet/ledger/adjust.ts'
import { getBalance } from '#wallet/ledger/balance.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { ALICE, BOB, createWalletTestbed, insertPaidOrder, refundLocked } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed(20)
})
afterAll(() => money.close())

const transfersOf = (tenantId: string) =>
  money.db.query(sql`select * from transfers where tenant_id = ${tenantId} order by wallet_version`)

test('fifty concurrent top-ups with one reference post once, and all get the same answer', async () => {
  const { tenantId } = await money.tenant()
  const input = { tenantId, amount: 12_500_000n, reference: 'INV-1' }
  const answers = await Promise.all(Array.from({ length: 50 }, () => topUp(money.deps, input, ALICE)))
  expect(await transfersOf(tenantId)).toHaveLength(1)
  expect(answers.filter((answer) => !answer.replayed)).toHaveLength(1)
  expect(new Set(answers.map((answer) => `${answer.walletVersion} ${answer.balanceAfter}`))).toEqual(
    new Set(['1 12500000']),
  )
})

test('fifty concurrent top-ups with different references all post, in one chain', async () => {
  const { tenantId } = await money.tenant()
  const inputs = Array.from({ length: 50 }, (_, index) => ({ tenantId, amount: 10n, reference: `R${index}` }))
  const answers = await Promise.all(inputs.map((input) => topUp(money.deps, input, ALICE)))
  expect(answers.map((answer) => answer.balanceAfter).sort((a, b) => Number(a - b))).toEqual(
    Array.from({ length: 50 }, (_, index) => BigInt(index + 1) * 10n),
  )
  expect((await getBalance(money.db, tenantId)).balance).toBe(500)
})

test('a reference reused with a different amount is refused, and the refusal states the first amount', async () => {
  const { tenantId } = await money.tenant()
  await topUp(money.deps, { tenantId, amount: 100n, reference: 'INV' }, ALICE)
  const again = topUp(money.deps, { tenantId, amount: 101n, reference: 'INV' }, ALICE)
  await expect(again).rejects.toMatchObject({ status: 409, code: 'REFERENCE_USED', data: { amount: 100n } })
  expect(await transfersOf(tenantId)).toHaveLength(1)
})

test('the same reference in two wallets stands for two payments', async () => {
  const [one, two] = [await money.tenant(), await money.tenant()]
  for (const { tenantId } of [one, two]) await topUp(money.deps, { tenantId, amount: 100n, reference: 'INV' }, ALICE)
  expect(await transfersOf(two.tenantId)).toHaveLength(1)
})

test('a movement is audited only when it is posted, with the balance before and after', async () => {
  const { tenantId } = await money.tenant()
  for (const _ of [1, 2])
    await topUp(money.deps, { tenantId, amount: 100n, reference: 'INV', reason: 'transfer' }, ALICE)
  const entries = await money.db.query(sql`
    select actor, subject, before, after from audit_log where tenant_id = ${tenantId} and action = 'wallet.top_up'`)
  const after = { balance: '100', amount: '100', reference: 'INV', reason: 'transfer' }
  expect(entries).toEqual([{ actor: 'cli:alice', subject: 'INV', before: { balance: '0' }, after }])
})

test.each([
  ['no amount', { amount: 0n }, 'AMOUNT_INVALID'],
  ['an amount below zero', { amount: -1n }, 'AMOUNT_INVALID'],
  ['an amount that is not exact in JSON', { amount: 2n ** 53n }, 'AMOUNT_INVALID'],
  ['no reference', { reference: ' ' }, 'REFERENCE_INVALID'],
  ['a reference over two lines', { reference: 'a\nb' }, 'REFERENCE_INVALID'],
  ['a reference of 65 characters', { reference: 'x'.repeat(65) }, 'REFERENCE_INVALID'],
  ['an empty reason', { reason: '' }, 'REASON_INVALID'],
  ['a tenant that does not exist', { tenantId: '01a1fd66-89b3-76be-9561-3150f6a29e7a' }, 'NOT_FOUND'],
  ['a malformed tenant id', { tenantId: 'acme' }, 'NOT_FOUND'],
])('%s is refused with a message', async (_, wrong, code) => {
  const { tenantId } = await money.tenant()
  const input = { tenantId, amount: 1n, reference: 'R', ...wrong }
  await expect(topUp(money.deps, input, ALICE)).rejects.toMatchObject({ code, message: expect.stringMatching(/\.$/) })
  expect(await transfersOf(tenantId)).toEqual([])
})

test('a balance that JSON cannot represent exactly is refused', async () => {
  const { tenantId } = await money.tenant()
  await topUp(money.deps, { tenantId, amount: 2n ** 53n - 1n, reference: 'all' }, ALICE)
  const more = topUp(money.deps, { tenantId, amount: 1n, reference: 'more' }, ALICE)
  await expect(more).rejects.toMatchObject({ code: 'BALANCE_OUT_OF_RANGE' })
})

describe('money that operators credit leaves room for refunds', () => {
  const MAX = 2n ** 53n - 1n
  const refundAll = (tenantId: string, orderId: string, amount: bigint) =>
    money.db.tx((tx) => refundLocked(tx, tenantId, orderId, [{ itemNo: 1, amount }]))
  const credit = (tenantId: string, amount: bigint, reference: string) =>
    topUp(money.deps, { tenantId, amount, reference }, ALICE)

  test('a top-up or an adjustment that would leave no room is refused', async () => {
    const { tenantId } = await money.tenant()
    await credit(tenantId, MAX, 'all')
    const orderId = await insertPaidOrder(money.db, tenantId, [MAX])
    const refused = { code: 'BALANCE_OUT_OF_RANGE', message: expect.stringMatching(/refunds/) }
    await expect(credit(tenantId, MAX, 'again')).rejects.toMatchObject(refused)
    const input = { tenantId, amount: MAX, reference: 'CASE', reason: 'correction' }
    const { adjustmentId } = await proposeAdjustment(money.deps, input, ALICE)
    await expect(approveAdjustment(money.deps, tenantId, adjustmentId, BOB)).rejects.toMatchObject(refused)
    await refundAll(tenantId, orderId, MAX)
    expect(await getBalance(money.db, tenantId)).toMatchObject({ balance: Number(MAX) })
  })

  test('earlier credits do not limit later ones while the balance is at most half the maximum', async () => {
    const { tenantId } = await money.tenant()
    for (let times = 1; times <= 3; times++) {
      await credit(tenantId, MAX / 2n, `INV-${times}`)
      await insertPaidOrder(money.db, tenantId, [MAX / 2n])
    }
    await expect(credit(tenantId, MAX / 2n + 1n, 'more')).rejects.toMatchObject({ code: 'BALANCE_OUT_OF_RANGE' })
  })

  test('a negative adjustment is approved no matter how much was credited', async () => {
    const { tenantId } = await money.tenant()
    await credit(tenantId, MAX, 'all')
    const input = { tenantId, amount: -1n, reference: 'CASE', reason: 'correction' }
    const { adjustmentId } = await proposeAdjustment(money.deps, input, ALICE)
    expect(await approveAdjustment(money.deps, tenantId, adjustmentId, BOB)).toMatchObject({ status: 'APPROVED' })
  })
})

test('an item is refunded once, even if the refund is repeated concurrently', async () => {
  const { tenantId } = await money.tenant()
  const orderId = await insertPaidOrder(money.db, tenantId, [30n, 20n, 50n])
  const refundSome = (itemNos: number[]) => {
    const items = itemNos.map((itemNo) => ({ itemNo, amount: [30n, 20n, 50n][itemNo - 1]! }))
    return money.db.tx((tx) => refundLocked(tx, tenantId, orderId, items))
  }
  const refunded = await Promise.all([[1], [1, 2], [2, 1], [2], [1]].map(refundSome))
  expect(await refundSome([2, 1])).toBe(50n)
  // The events report the refunded amount at the time: 30 or 20, and 50 afterwards.
  for (const amount of refunded) expect([20n, 30n, 50n]).toContain(amount)
  const [, ...refunds] = await transfersOf(tenantId)
  expect(refunds).toHaveLength(2)
  expect(await getBalance(money.db, tenantId)).toMatchObject({ balance: -50 })
  const [order] = await money.db.query(sql`select refunded_amount from orders where order_id = ${orderId}`)
  expect(order).toEqual({ refundedAmount: 50n })
})

test('a refund updates its order’s update time, but a repeated refund does not', async () => {
  const { tenantId } = await money.tenant()
  const orderId = await insertPaidOrder(money.db, tenantId, [30n, 20n])
  const refundOne = (itemNo: number, amount: bigint) =>
    money.db.tx((tx) => refundLocked(tx, tenantId, orderId, [{ itemNo, amount }]))
  const setUpdated = (ago: string) =>
    money.db.query(sql`update orders set updated_at = date_trunc('milliseconds', now()) - ${ago}::interval
                       where order_id = ${orderId}`)
  const updatedMs = async () =>
    (
      await money.db.query<{ at: Date }>(sql`select updated_at as at from orders where order_id = ${orderId}`)
    )[0]!.at.getTime()
  await setUpdated('1 hour')
  const beforeMs = await updatedMs()
  await refundOne(1, 30n)
  const refundedMs = await updatedMs()
  expect(refundedMs).toBeGreaterThan(beforeMs)
  await refundOne(1, 30n)
  expect(await updatedMs()).toBe(refundedMs)
  await setUpdated('-1 hour') // as if a clock had been fast
  const aheadMs = await updatedMs()
  await refundOne(2, 20n)
  expect(await updatedMs()).toBe(aheadMs)
})

test("a refund reduces today's spending, but not another day's", async () => {
  const { tenantId } = await money.tenant()
  const spent = async () =>
    (await money.db.query<{ spent: bigint }>(sql`select spent from wallets where tenant_id = ${tenantId}`))[0]!.spent
  const today = await insertPaidOrder(money.db, tenantId, [30n, 20n])
  const earlier = await insertPaidOrder(money.db, tenantId, [40n])
  await money.db.query(sql`
    update orders set status_history = jsonb_set(status_history, '{0,time}', to_jsonb(now() - interval '1 day'))
    where order_id = ${earlier}`)
  await money.db.query(sql`update wallets set spent = 50 where tenant_id = ${tenantId}`)
  const refundFirst = (orderId: string, amount: bigint) =>
    money.db.tx((tx) => refundLocked(tx, tenantId, orderId, [{ itemNo: 1, amount }]))
  await refundFirst(earlier, 40n)
  expect(await spent()).toBe(50n)
  await refundFirst(today, 30n)
  expect(await spent()).toBe(20n)
})

test('an order is never refunded more than its amount', async () => {
  const { tenantId } = await money.tenant()
  const orderId = await insertPaidOrder(money.db, tenantId, [30n])
  const refunding = money.db.tx((tx) => refundLocked(tx, tenantId, orderId, [{ itemNo: 1, amount: 31n }]))
  await expect(refunding).rejects.toThrow(/check constraint/)
  expect(await getBalance(money.db, tenantId)).toMatchObject({ balance: -30 })
})

test('account/balance returns the wallet', async () => {
  const { tenantId } = await money.tenant('EUR')
  await topUp(money.deps, { tenantId, amount: 45_000n, reference: 'R' }, ALICE)
  await changeSettings(money.deps, tenantId, { creditLimit: 10_000n, lowBalanceThreshold: 1n }, ALICE)
  expect(await getBalance(money.db, tenantId)).toEqual({
    balance: 45_000,
    creditLimit: 10_000,
    availableBalance: 55_000,
    currencyCode: 'EUR',
    lowBalanceThreshold: 1,
    lastUpdateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  })
})
