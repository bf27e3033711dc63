import type { PackageType } from '@dealer-esim/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arbitraryChanges, type Change, rowsAfter } from '#test/harness/catalogue-history.ts'
import { type Buyer, LoadedSnapshot } from '../catalogue.ts'
import { listPackages } from './list-packages.ts'

// Compares a change-feed poller's state with a complete list.

/** T has plans, a group and its own prices. */
const BUYERS: readonly Buyer[] = [
  { tenantId: 'T', currencyCode: 'USD' },
  { tenantId: 'U', currencyCode: 'EUR' },
]
const history = fc.array(arbitraryChanges('A'), { maxLength: 20, size: 'max' })
const historyWithTopUps = fc.array(arbitraryChanges('A', 'A_TOPUP'), { maxLength: 20, size: 'max' })

/** The snapshot and the time after these changes, which are one millisecond apart. */
const after = (changes: readonly Change[]) =>
  LoadedSnapshot.empty({ linkKey: Buffer.alloc(32), databaseClock: { now: () => changes.length } }).with(
    rowsAfter(changes)(Number.NEGATIVE_INFINITY),
  )
const list = (snapshot: LoadedSnapshot, buyer: Buyer, updatedSince?: string, type: PackageType = 'BASE') =>
  listPackages(snapshot, buyer, updatedSince === undefined ? { type } : { type, updatedSince })

const onSale = { kind: 'package', code: 'A', onSale: true, name: 'x' } as const
const draft = { ...onSale, onSale: false } as const
const rule = {
  kind: 'rule',
  plan: 'P',
  code: 'A',
  currency: 'USD',
  percent: -1n,
  isOfCost: false,
  from: null,
  lasts: null,
  removed: false,
} as const
const wideRule = {
  kind: 'wide rule',
  plan: 'P',
  of: 'sandbox',
  percent: 20_000n,
  from: null,
  lasts: null,
  removed: false,
} as const
const waiting = { ...draft, code: 'B' } as const
const given = { kind: 'plan', plan: 'P', removed: false } as const
const taken = { ...given, removed: true } as const
const price = { kind: 'price', code: 'A', currency: 'USD', removed: false, isMaximum: false } as const
const ofCost = { currency: '', percent: 10_000n, isOfCost: true } as const
const cost = { kind: 'cost', code: 'A', currency: 'USD', isKnown: true } as const
const moved = (code: string, supplier: 'sandbox' | 'other') => ({ kind: 'supplier', code, supplier }) as const
const own = { kind: 'own', code: 'A', removed: false } as const

/** Polls once after each change and compares what the poller knows with the complete list at the end. */
function expectPollersToKnow(changes: readonly Change[], type: PackageType): void {
  const last = after(changes)
  for (const polled of changes.keys()) {
    const before = after(changes.slice(0, polled))
    for (const buyer of BUYERS) {
      const { packageList, asOf } = list(before, buyer, undefined, type)
      const known = new Map(packageList.map((item) => [item.packageCode, item]))
      for (const item of list(last, buyer, asOf, type).packageList) {
        if (item.status === 'ON_SALE') known.set(item.packageCode, item)
        else known.delete(item.packageCode)
      }
      const comparable = (items: Iterable<{ packageCode: string }>) =>
        [...items]
          .map((item) => ({ ...item, lastUpdateTime: 0 }))
          .sort((a, b) => (a.packageCode < b.packageCode ? -1 : 1))
      expect(comparable(known.values())).toEqual(comparable(list(last, buyer, undefined, type).packageList))
    }
  }
}

test('polling at any interval keeps a tenant’s packages and prices up to date', () => {
  fc.assert(
    fc.property(history, (changes) => expectPollersToKnow(changes, 'BASE')),
    {
      numRuns: 1_000,
      examples: [
        // A plan's rule is changed after the tenant has lost the plan.
        [[onSale, rule, given, taken, rule]],
        // The tenant loses a plan, the plan loses its rule, and the tenant gets the plan again.
        [[onSale, rule, given, taken, { ...rule, removed: true }, given]],
        // A tenant’s price is a percentage of a cost, which changes and then becomes unknown.
        [[onSale, price, { ...rule, ...ofCost }, given, cost, { ...cost, isKnown: false }]],
        // Rules begin and end while nothing else about the package changes.
        [[onSale, given, { ...rule, from: 9 }, ...Array<typeof waiting>(8).fill(waiting)]],
        [[onSale, given, { ...rule, lasts: 4 }, ...Array<typeof waiting>(4).fill(waiting)]],
        [[onSale, price, given, { ...wideRule, lasts: 4 }, ...Array<typeof waiting>(4).fill(waiting)]],
        // The package moves to a supplier for which the plan has no rule.
        [[onSale, price, given, wideRule, moved('A', 'other')]],
      ],
    },
  )
}, 60_000)

test('polling at any interval keeps the TOPUP packages, and what can be topped up, up to date', () => {
  const topUp = { ...onSale, code: 'A_TOPUP' }
  const topUpPrice = { ...price, code: 'A_TOPUP' }
  fc.assert(
    fc.property(historyWithTopUps, (changes) => {
      for (const type of ['BASE', 'TOPUP'] as const) expectPollersToKnow(changes, type)
    }),
    {
      numRuns: 1_000,
      examples: [
        // The first TOPUP package of a package on sale, and the end of its sale, price and own price.
        [[onSale, price, topUp, topUpPrice]],
        [[onSale, price, topUp, topUpPrice, { ...topUp, onSale: false }]],
        [[onSale, price, topUp, topUpPrice, { ...topUpPrice, removed: true }]],
        [[onSale, price, topUp, { ...own, code: 'A_TOPUP' }, { ...own, code: 'A_TOPUP', removed: true }]],
        // A plan gives the TOPUP package its only price, and is then taken away from the tenant.
        [[onSale, price, topUp, { ...rule, code: 'A_TOPUP' }, topUpPrice, given, taken]],
        // The TOPUP package moves to another supplier and back, and the BASE package follows it.
        [[onSale, price, topUp, topUpPrice, moved('A_TOPUP', 'other')]],
        [[onSale, price, topUp, topUpPrice, moved('A_TOPUP', 'other'), moved('A_TOPUP', 'sandbox')]],
        [[onSale, price, topUp, topUpPrice, moved('A', 'other')]],
        [[onSale, price, topUp, topUpPrice, moved('A_TOPUP', 'other'), moved('A', 'other')]],
      ],
    },
  )
}, 60_000)

test('a package can be topped up if and only if a TOPUP package for it is available', () => {
  fc.assert(
    fc.property(historyWithTopUps, (changes) => {
      const last = after(changes)
      for (const buyer of BUYERS) {
        const supplierOf = (code: string) => last.find(code)?.routes[0]?.supplier
        const isOnSale = list(last, buyer, undefined, 'TOPUP').packageList.length > 0
        const canTopUp = isOnSale && supplierOf('A_TOPUP') === supplierOf('A')
        for (const item of list(last, buyer).packageList) expect(item).toMatchObject({ topUpSupported: canTopUp })
      }
    }),
    { numRuns: 1_000 },
  )
}, 60_000)

test('a package that a tenant could never buy is not listed, in histories where nothing begins twice', () => {
  fc.assert(
    fc.property(history, (changes) => {
      const once = withoutReturns(changes)
      const last = after(once)
      for (const buyer of BUYERS) {
        const could = once.some((_, i) => list(after(once.slice(0, i + 1)), buyer).packageList.length > 0)
        const listed = list(last, buyer, new Date(0).toISOString()).packageList
        if (!could) expect(listed).toEqual([])
      }
    }),
    {
      numRuns: 1_000,
      examples: [
        // It had a price only as a draft.
        [[draft, price, { ...price, removed: true }, onSale]],
        [[draft, own, { ...own, removed: true }, onSale]],
        [[draft, rule, given, taken, onSale]],
        // It got its first price after going off sale.
        [[onSale, draft, price]],
        [[onSale, draft, own]],
        [[onSale, draft, price, { ...price, removed: true }]],
        [[onSale, rule, draft, given]],
      ],
    },
  )
}, 60_000)

/** Keeps one period of each kind, since only one is stored, and no price that a percentage would raise above the limit. */
function withoutReturns(changes: readonly Change[]): Change[] {
  const ended = new Map<string, boolean>()
  const live = new Map<string, string>()
  const end = (key: string) => ended.set(key, true)
  return changes
    .map((one) => (one.kind === 'price' ? { ...one, isMaximum: false } : one))
    .map((one) => (one.kind === 'rule' ? { ...one, lasts: null } : one))
    .filter((one) => {
      if (one.kind === 'cost' || one.kind === 'supplier' || one.kind === 'wide rule') return true
      const scope = 'code' in one ? `${one.kind} ${one.code}` : one.kind
      const detail = 'currency' in one ? `${one.currency} ${'from' in one ? one.from : ''}` : ''
      const plan = 'plan' in one ? one.plan : ''
      const key = `${scope} ${plan} ${detail}`
      const starts = one.kind === 'package' ? one.onSale : !one.removed
      // A tenant has one plan at a time: a new plan ends the current one.
      const slot = one.kind === 'plan' || one.kind === 'group plan' || one.kind === 'group' ? one.kind : key
      const before = live.get(slot)
      if (starts) {
        if (ended.has(key)) return false
        if (before !== undefined && before !== key) end(before)
        live.set(slot, key)
      } else if (before !== undefined) {
        end(before)
        live.delete(slot)
      }
      return true
    })
}
