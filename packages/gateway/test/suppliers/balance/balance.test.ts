import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import type { Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SYSTEM } from '#platform/audit/audit.ts'
import { balanceLoop } from '#suppliers/balance/balance-loop.ts'
import { findBalance, READ_EVERY_MS, setAlertBelow } from '#suppliers/balance/balance-state.ts'
import { claimBalance, readBalance } from '#suppliers/balance/read-balance.ts'
import { addSupplier, waitUntil } from '#test/harness/shop.ts'
import { type BalanceTestbed, createBalanceTestbed } from './balance-testbed.ts'

/* The operator's balances at suppliers: read by workers, stored, and reported when low. */

let testbed: BalanceTestbed
let simulator: Simulator

beforeAll(async () => {
  testbed = await createBalanceTestbed()
  simulator = await testbed.addWholesaler('whole')
})
afterAll(() => testbed.close())

const setLevel = (level: bigint | null) => setAlertBelow(testbed, 'whole', level, SYSTEM)
const readings = () =>
  testbed.db.query<{ amount: bigint }>({
    text: `select amount from supplier_balance_readings where supplier = 'whole' order by read_at`,
  })

describe('workers', () => {
  it('read each supplier’s balance every 15 minutes on one of several nodes, if the supplier reports one', async () => {
    simulator.setBalance(1_234_500)
    await addSupplier(testbed, 'codes', 'stock')
    const loops: Running[] = [balanceLoop(testbed), balanceLoop(testbed)]
    const read = await waitUntil(async () => {
      const balance = await findBalance(testbed.db, 'whole')
      return balance?.amount === 1_234_500n && balance
    })
    expect(read).toMatchObject({ currencyCode: 'USD', message: null, alertBelow: null })
    await Promise.all(loops.map((loop) => loop.stop(5_000)))
    const [due] = await testbed.db.query<{ waitMs: number }>({
      text: `select (extract(epoch from due_at - read_at) * 1000)::float8 as wait_ms from supplier_balances`,
    })
    expect(due!.waitMs).toBe(READ_EVERY_MS)
    expect(simulator.counters().requestsByOperation.balance).toBe(1)
    expect(await findBalance(testbed.db, 'codes')).toBeUndefined()
    expect(await readings()).toEqual([{ amount: 1_234_500n }])
  })

  it('save nothing once they have lost the lease', async () => {
    const claim = (await claimBalance(testbed.db, ['whole'], true))!
    expect(await claimBalance(testbed.db, ['whole'], true)).toBeUndefined()
    await testbed.db.query({ text: `update supplier_balances set lease_until = now() - interval '1 second'` })
    const later = (await claimBalance(testbed.db, ['whole'], true))!
    simulator.setBalance(500)
    const { supplier } = testbed.suppliers.get('whole')!
    const before = await readings()
    await readBalance(testbed, claim, supplier)
    expect([await readings(), (await findBalance(testbed.db, 'whole'))!.amount]).toEqual([before, 1_234_500n])
    await readBalance(testbed, later, supplier)
    expect((await findBalance(testbed.db, 'whole'))!.amount).toBe(500n)
  })

  it.each([2_147_483_648, Number.MAX_SAFE_INTEGER, 0, 500])('save a balance of %d', async (amount) => {
    simulator.setBalance(amount)
    expect(await testbed.read('whole')).toMatchObject({ kind: 'balance', amount: BigInt(amount) })
    expect(await findBalance(testbed.db, 'whole')).toMatchObject({ amount: BigInt(amount), message: null })
  })

  it('keep the latest balance when a reading fails, and report the cause', async () => {
    simulator.addFault({ kind: 'server-error-before', operation: 'balance' })
    expect(await testbed.read('whole')).toMatchObject({ kind: 'silent' })
    simulator.clearFaults()
    expect(await findBalance(testbed.db, 'whole')).toMatchObject({ amount: 500n, message: expect.any(String) })
    await testbed.read('whole')
    expect(await findBalance(testbed.db, 'whole')).toMatchObject({ amount: 500n, message: null })
  })
})

describe('the low-balance alert', () => {
  const readAt = async (amount: number) => {
    simulator.setBalance(amount)
    await testbed.read('whole')
    return (await testbed.alerts('SUPPLIER_BALANCE')).length
  }

  it('is raised once below the level, and again only after the balance was above it', async () => {
    expect(await readAt(900_000)).toBe(0)
    await setLevel(1_000_000n)
    expect(await readAt(1_000_000)).toBe(0)
    expect(await readAt(999_999)).toBe(1)
    expect(await readAt(500_000)).toBe(1)
    await setLevel(1_000_000n)
    expect(await readAt(400_000)).toBe(1)
    expect(await readAt(1_000_000)).toBe(1)
    expect(await readAt(999_900)).toBe(2)
    expect((await testbed.alerts('SUPPLIER_BALANCE'))[1]).toMatch(
      /^Your balance at whole is 99\.99 USD, below 100\.00\. Top it up/,
    )
  })

  it('is raised immediately if the level is set above the balance, and never without a level', async () => {
    await setLevel(2_000_000n)
    expect(await readAt(1_500_000)).toBe(3)
    await setLevel(null)
    expect(await readAt(1)).toBe(3)
  })

  it('cannot be set for an unknown supplier, for a supplier without a balance, or to a level of zero', async () => {
    await expect(setAlertBelow(testbed, 'codes', 1n, SYSTEM)).rejects.toThrow('do not report one')
    await expect(setAlertBelow(testbed, 'nobody', 1n, SYSTEM)).rejects.toThrow('nobody')
    await expect(setLevel(0n)).rejects.toThrow('must be above zero')
  })
})

it.each(['airalo', 'esim-go', 'mobimatter', 'zendit'] as const)('the balance at %s is read correctly', async (kind) => {
  const other = await testbed.addWholesaler(kind, kind)
  other.setBalance(770_000)
  expect(await testbed.read(kind)).toMatchObject({ kind: 'balance', amount: 770_000n })
  expect((await findBalance(testbed.db, kind))!.amount).toBe(770_000n)
})
