import type { Outcome, SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { claimSync, runSync } from '#products/sync/run-sync.ts'
import { ensureSync } from '#products/sync/sync-state.ts'
import { ensureBalance } from '#suppliers/balance/balance-state.ts'
import { claimBalance, readBalance } from '#suppliers/balance/read-balance.ts'
import { listSuppliers, setSupplier } from '#suppliers/manage-suppliers.ts'
import { testDueSuppliers, testSupplier } from '#suppliers/state/test-supplier.ts'
import { openShop } from '#test/harness/open-shop.ts'
import { createScriptedSupplier, deliver } from '#test/harness/scripted-supplier.ts'
import { addPackage, addSupplier, addTenant, payOrders, type Shop, waitUntil } from '#test/harness/shop.ts'

/* A supplier's state is what was last seen: in its test, in a reading of its balance or catalogue, or in a purchase. */

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await addSupplier(shop, 'odd', 'stock')
  await addPackage(shop.db, 'ODD', [{ supplier: 'odd', productCode: 'X' }])
})
afterAll(() => shop.close())

const seenOf = async (name = 'odd') => (await listSuppliers(shop.db)).find((one) => one.name === name)!.seen

/** The next observation of the supplier; null: it works. */
type Step = { by: 'TEST' | 'BALANCE' | 'CATALOGUE' | 'PURCHASE'; failure: string | null } | { by: 'SETTINGS' }

const REFUSED = '101003: signature error'
const PRODUCT: SupplierProduct = {
  ...{ productCode: 'X', name: 'Japan 1 GB', packageType: 'BASE', countries: ['JP'], volume: 1_000_000_000n },
  ...{ isDayPass: false, durationDays: 7, cost: 100n, currencyCode: 'USD' },
}

async function take(step: Step): Promise<void> {
  if (step.by === 'SETTINGS') return changeSettings()
  const { failure } = step
  const { deps, supplied } = createScriptedSupplier(shop, {
    test: async () => failure ?? undefined,
    balance: async () =>
      failure === null ? { kind: 'balance', amount: 1n, currencyCode: 'USD' } : { kind: 'silent', message: failure },
    catalogue: async function* () {
      if (failure !== null) throw new Error(failure)
      yield PRODUCT
    },
    order: async (requests) => requests.map(() => (failure === null ? deliver() : down(failure))),
  })
  switch (step.by) {
    case 'TEST':
      await testSupplier(deps, 'odd')
      return
    case 'BALANCE':
      await shop.db.tx((tx) => ensureBalance(tx, 'odd'))
      await readBalance(shop, (await claimBalance(shop.db, ['odd'], true))!, supplied.supplier)
      return
    case 'CATALOGUE':
      await ensureSync(shop.db, 'odd')
      await runSync(shop, (await claimSync(shop.db, ['odd'], true))!, supplied.supplier)
      return
    case 'PURCHASE':
      await buy(deps)
      return
    default:
      step satisfies never
  }
}

const down = (message: string): Outcome => ({ kind: 'retry', message, down: true, afterMs: 60_000 })

/** Instead of waiting for changed settings to settle, sets back the time at which they do. */
async function changeSettings(): Promise<void> {
  const config = { leastValidityHours: 1 + Math.floor(Math.random() * 1_000) }
  await setSupplier({ ...shop, config: { deployment: 'local' } }, { name: 'odd', config }, SYSTEM)
  await shop.db.query({ text: `update supplier_states set settled_at = settled_at - interval '1 minute'` })
}

async function buy(deps: Shop): Promise<void> {
  const tenantId = await addTenant(shop.db)
  const loop = fulfilmentLoop(deps)
  await payOrders(shop.db, tenantId, 'ODD')
  await waitUntil(async () => {
    const rows = await shop.db.query({
      text: `select from supplier_attempts where tenant_id = $1 and finished_at is not null`,
      values: [tenantId],
    })
    return rows.length > 0
  })
  await loop.stop(5_000)
  await shop.db.query({ text: 'update orders set due_at = null where tenant_id = $1', values: [tenantId] })
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({
        by: fc.constantFrom('TEST' as const, 'BALANCE' as const, 'CATALOGUE' as const, 'PURCHASE' as const),
        failure: fc.option(fc.constantFrom(REFUSED, 'no answer'), { nil: null }),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ by: 'SETTINGS' as const }) },
  ),
  { minLength: 1, maxLength: 8 },
)

describe('a supplier’s state', () => {
  it('follows the latest test, reading, purchase or failure, and becomes “not tested” after a settings change', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        await take({ by: 'SETTINGS' })
        expect(await seenOf()).toEqual({ state: 'NOT_TESTED' })
        let since: Date | undefined
        for (const step of history) {
          await take(step)
          const seen = await seenOf()
          if (step.by === 'SETTINGS') expect(seen).toEqual({ state: 'NOT_TESTED' })
          else if (step.failure === null) expect(seen).toMatchObject({ state: 'WORKING', seenBy: step.by })
          else expect(seen).toMatchObject({ state: 'FAILING', seenBy: step.by, failure: step.failure })
          if (seen.state !== 'FAILING') since = undefined
          else {
            since ??= seen.since
            expect(seen.since).toEqual(since)
          }
        }
      }),
      { numRuns: 8 },
    )
  })

  it('is not changed by calls that began before all nodes had the new settings', async () => {
    const config = { leastValidityHours: 2_000 }
    await setSupplier({ ...shop, config: { deployment: 'local' } }, { name: 'odd', config }, SYSTEM)
    for (const by of ['BALANCE', 'CATALOGUE', 'PURCHASE'] as const) {
      await take({ by, failure: REFUSED })
      expect(await seenOf()).toEqual({ state: 'NOT_TESTED' })
    }
    await take({ by: 'TEST', failure: null })
    expect(await seenOf()).toMatchObject({ state: 'WORKING', seenBy: 'TEST' })
  })

  it('stays “not tested” after a refused product, missing money or a missing answer', async () => {
    await take({ by: 'SETTINGS' })
    for (const outcome of [
      { kind: 'refused', message: 'out of stock' },
      { kind: 'retry', message: 'no money', noMoney: true, afterMs: 60_000 },
      { kind: 'unknown', message: 'no answer within 15 s', down: true },
    ] as const satisfies Outcome[]) {
      await buy(createScriptedSupplier(shop, { order: async (all) => all.map(() => outcome) }).deps)
      expect(await seenOf()).toEqual({ state: 'NOT_TESTED' })
    }
  })

  it('is determined by a worker if nobody has tested the supplier, and again after a failed test', async () => {
    let answers = 0
    const test = async () => (++answers === 1 ? 'it has no codes' : undefined)
    const { deps } = createScriptedSupplier(shop, { test })
    const due = (when: string) =>
      shop.db.query({ text: `update supplier_states set test_due_at = ${when} where supplier = 'odd'` })
    await take({ by: 'SETTINGS' })
    await due('now()')
    await testDueSuppliers(deps)
    expect(await seenOf()).toMatchObject({ state: 'FAILING', failure: 'it has no codes' })
    await testDueSuppliers(deps)
    expect(answers).toBe(1)
    await due(`test_due_at - interval '5 minutes'`)
    await testDueSuppliers(deps)
    expect(await seenOf()).toMatchObject({ state: 'WORKING', seenBy: 'TEST' })
    await due('now()')
    await testDueSuppliers(deps)
    await testDueSuppliers(deps)
    expect(answers).toBe(3)
  })
})
