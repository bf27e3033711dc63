import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { approveAdjustment, proposeAdjustment, rejectAdjustment } from '#wallet/ledger/adjust.ts'
import { listAdjustments } from '#wallet/ledger/adjustment.ts'
import { getBalance } from '#wallet/ledger/balance.ts'
import { ALICE, BOB, createWalletTestbed } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

const propose = (tenantId: string, amount = -500n, reference = 'CASE-1') =>
  proposeAdjustment(money.deps, { tenantId, amount, reference, reason: 'credited twice' }, ALICE)
const balanceOf = async (tenantId: string) => (await getBalance(money.db, tenantId)).balance
const expire = (adjustmentId: string) =>
  money.db.query(sql`update wallet_adjustments set expires_at = now() where adjustment_id = ${adjustmentId}`)

test('a proposal does not move money until a second person approves it', async () => {
  const { tenantId } = await money.tenant()
  const proposal = await propose(tenantId)
  expect(proposal).toMatchObject({ status: 'PROPOSED', proposedBy: 'cli:alice', decidedBy: null, walletVersion: null })
  expect(await balanceOf(tenantId)).toBe(0)
  const approved = await approveAdjustment(money.deps, tenantId, proposal.adjustmentId, BOB)
  expect(approved).toMatchObject({ status: 'APPROVED', decidedBy: 'person:bob', walletVersion: 1n })
  expect(await balanceOf(tenantId)).toBe(-500)
})

test('the proposer cannot approve an adjustment', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  const approving = approveAdjustment(money.deps, tenantId, adjustmentId, ALICE)
  await expect(approving).rejects.toMatchObject({ status: 409, code: 'SECOND_PERSON_NEEDED' })
  expect(await balanceOf(tenantId)).toBe(0)
})

test('ten concurrent approvals post the adjustment once', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  const approvals = Array.from({ length: 10 }, () => approveAdjustment(money.deps, tenantId, adjustmentId, BOB))
  for (const approved of await Promise.all(approvals)) expect(approved.walletVersion).toBe(1n)
  expect(await balanceOf(tenantId)).toBe(-500)
})

test('of a concurrent approval and rejection, only one takes effect', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  const outcomes = await Promise.allSettled([
    approveAdjustment(money.deps, tenantId, adjustmentId, BOB),
    rejectAdjustment(money.deps, tenantId, adjustmentId, ALICE),
  ])
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
})

test('an expired proposal cannot be approved, and releases its reference', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  await expire(adjustmentId)
  const approving = approveAdjustment(money.deps, tenantId, adjustmentId, BOB)
  await expect(approving).rejects.toMatchObject({ code: 'ADJUSTMENT_DECIDED', data: { status: 'EXPIRED' } })
  const again = await propose(tenantId, -600n)
  expect(again.adjustmentId).not.toBe(adjustmentId)
  const all = await listAdjustments(money.db, { tenantId })
  expect(all.map((row) => [row.amount, row.status])).toEqual([
    [-600n, 'PROPOSED'],
    [-500n, 'EXPIRED'],
  ])
})

test('a rejected proposal stays rejected, and releases its reference', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  for (const _ of [1, 2]) {
    const rejected = await rejectAdjustment(money.deps, tenantId, adjustmentId, ALICE)
    expect(rejected).toMatchObject({ status: 'REJECTED', decidedBy: 'cli:alice' })
  }
  await expect(approveAdjustment(money.deps, tenantId, adjustmentId, BOB)).rejects.toMatchObject({
    code: 'ADJUSTMENT_DECIDED',
  })
  expect((await propose(tenantId)).adjustmentId).not.toBe(adjustmentId)
})

test('a repeated proposal with an active reference returns the first one, unless the amount differs', async () => {
  const { tenantId } = await money.tenant()
  const first = await propose(tenantId)
  expect(await propose(tenantId)).toEqual(first)
  await expect(propose(tenantId, -501n)).rejects.toMatchObject({ code: 'REFERENCE_USED', data: { amount: -500n } })
  await approveAdjustment(money.deps, tenantId, first.adjustmentId, BOB)
  await expect(propose(tenantId, -501n)).rejects.toMatchObject({ code: 'REFERENCE_USED' })
})

test("another tenant's adjustment gets the same answer as a nonexistent one", async () => {
  const [mine, other] = [await money.tenant(), await money.tenant()]
  const { adjustmentId } = await propose(other.tenantId)
  for (const decide of [approveAdjustment, rejectAdjustment]) {
    await expect(decide(money.deps, mine.tenantId, adjustmentId, BOB)).rejects.toMatchObject({ status: 404 })
  }
})

test('open adjustments of all tenants are listed until they are decided', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  const isOpen = async () =>
    (await listAdjustments(money.db, { open: true })).some((row) => row.adjustmentId === adjustmentId)
  expect(await isOpen()).toBe(true)
  await approveAdjustment(money.deps, tenantId, adjustmentId, BOB)
  expect(await isOpen()).toBe(false)
})

test('each step is audited with its actor', async () => {
  const { tenantId } = await money.tenant()
  const { adjustmentId } = await propose(tenantId)
  await approveAdjustment(money.deps, tenantId, adjustmentId, { ...BOB, address: '203.0.113.7' })
  const entries = await money.db.query(sql`
    select action, actor, address from audit_log
    where tenant_id = ${tenantId} and subject = ${adjustmentId} order by audit_id`)
  expect(entries).toEqual([
    { action: 'wallet.propose_adjustment', actor: 'cli:alice', address: null },
    { action: 'wallet.approve_adjustment', actor: 'person:bob', address: '203.0.113.7' },
  ])
})

test('each percentage of the threshold raises one alert, and is re-armed when the balance rises', async () => {
  const { tenantId } = await money.tenant()
  let number = 0
  const move = async (amount: bigint) => {
    const { adjustmentId } = await propose(tenantId, amount, `M${number++}`)
    await approveAdjustment(money.deps, tenantId, adjustmentId, BOB)
  }
  const alertedPercents = async () => {
    const rows = await money.db.query<{ step: number }>(sql`
      select (data ->> 'step')::int as step from alerts
      where tenant_id = ${tenantId} and kind = 'LOW_BALANCE' order by alert_id`)
    return rows.map((row) => row.step)
  }
  await move(1_000n)
  await changeSettings(money.deps, tenantId, { lowBalanceThreshold: 1_000n }, ALICE)
  expect(await alertedPercents()).toEqual([])
  await move(-100n) // 900
  await move(-100n) // 800: the same percentage
  await move(-100n) // 700
  await move(-650n) // 50: just below 50 %
  await move(-100n) // below zero: still the lowest percentage
  expect(await alertedPercents()).toEqual([100, 75, 10])
  await move(850n) // 800: re-armed
  await move(-400n) // 400
  expect(await alertedPercents()).toEqual([100, 75, 10, 50])
  const [last] = await money.db.query(sql`
    select audience, message from alerts where tenant_id = ${tenantId} order by alert_id desc limit 1`)
  expect(last).toEqual({
    audience: 'TENANT',
    message: 'The balance is 0.04 USD, below 50 % of the threshold of 0.10 USD. Top up to continue selling.',
  })
})

test('a threshold set above the balance raises an alert immediately', async () => {
  const { tenantId } = await money.tenant()
  await changeSettings(money.deps, tenantId, { lowBalanceThreshold: 1n }, ALICE)
  const notices = await money.db.query(sql`select kind from alerts where tenant_id = ${tenantId}`)
  expect(notices).toEqual([{ kind: 'LOW_BALANCE' }])
})
