import type { PackageListRequest } from '@dealer-esim/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { coverageOf } from './coverage.ts'
import type { CataloguePackage, ListPrice } from './package.ts'
import { LoadedSnapshot } from './snapshot.ts'
import type { PlanRuleRow } from './tariff.ts'

// Whatever happened in whatever pieces: a snapshot made step by step answers like one made at once.

const code = fc.constantFrom('A', 'B', 'C', 'D', 'E')
const currency = fc.constantFrom('USD', 'EUR')
const change = fc.oneof(
  fc.record({ kind: fc.constant('package' as const), code, onSale: fc.boolean(), name: fc.constantFrom('x', 'y') }),
  fc.record({ kind: fc.constant('price' as const), code, currency, removed: fc.boolean() }),
  fc.record({
    kind: fc.constant('rule' as const),
    code: fc.oneof(code, fc.constant('')),
    currency: fc.oneof(currency, fc.constant('')),
    removed: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('own' as const), code, removed: fc.boolean() }),
  fc.record({ kind: fc.constant('plan' as const), removed: fc.boolean() }),
)
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

const context = { linkKey: Buffer.alloc(32), databaseClock: { now: () => 1_000 } }
const coverage = coverageOf(['JP'], [])

/** The rows of the database after these changes, each stamped with its place among them. */
function rowsAfter(changes: readonly Change[]) {
  const packages = new Map<string, CataloguePackage & { touched: number }>()
  const rules = new Map<string, PlanRuleRow>()
  const own = new Map<
    string,
    { tenantId: string; packageCode: string; price: bigint; removed: boolean; updatedAt: number }
  >()
  let plan: { owner: string; target: string; removed: boolean; updatedAt: number } | undefined
  changes.forEach((one, i) => {
    const updatedAt = i + 1
    // Rules and own prices are made for packages that exist.
    if ((one.kind === 'rule' || one.kind === 'own') && one.code !== '' && !packages.has(one.code)) return
    if (one.kind === 'plan') plan = { owner: 'T', target: 'P', removed: one.removed, updatedAt }
    else if (one.kind === 'own') {
      own.set(one.code, { tenantId: 'T', packageCode: one.code, price: BigInt(i), removed: one.removed, updatedAt })
    } else if (one.kind === 'rule') {
      const amount = one.currency === '' ? { percent: -1n, price: null } : { percent: null, price: BigInt(i) }
      const scope = { planName: 'P', packageCode: one.code, currencyCode: one.currency }
      rules.set(`${one.code}/${one.currency}`, { ...scope, ...amount, removed: one.removed, updatedAt })
    } else {
      const before = packages.get(one.code)
      const base = before ?? fresh(one.code, updatedAt)
      const edited =
        one.kind === 'package'
          ? {
              ...base,
              name: one.name,
              onSale: one.onSale,
              everOnSale: base.everOnSale || one.onSale,
              updatedAt,
              saleChangedAt: updatedAt,
            }
          : {
              ...base,
              prices: priced(base.prices, {
                currencyCode: one.currency,
                price: BigInt(i),
                retailPrice: null,
                removed: one.removed,
                updatedAt,
              }),
            }
      packages.set(one.code, { ...edited, touched: updatedAt })
    }
  })
  return (after: number) => ({
    version: BigInt(changes.length),
    changedAt: changes.length,
    coverages: new Map(),
    packages: [...packages.values()].filter((item) => item.touched > after),
    planRules: [...rules.values()].filter((rule) => rule.updatedAt > after),
    ownPrices: [...own.values()].filter((price) => price.updatedAt > after),
    tenantPlans: plan && plan.updatedAt > after ? [plan] : [],
    tenantGroups: [],
    groupPlans: [],
  })
}

function fresh(packageCode: string, createdAt: number): CataloguePackage {
  return {
    ...{ packageCode, slug: packageCode, name: 'x', description: null, dataType: 'TOTAL', volume: 1n, duration: 7 },
    ...{ durationUnit: 'DAY', unusedValidTime: 1, activationPolicy: 'ON_INSTALL', ekycRequired: false, coverage },
    ...{ speed: null, fupPolicy: null, smsStatus: 0, allowLoss: false, onSale: true, everOnSale: true },
    ...{ saleChangedAt: createdAt, createdAt, updatedAt: createdAt, prices: [], routes: [] },
  }
}

function priced(prices: readonly ListPrice[], price: ListPrice): ListPrice[] {
  return [...prices.filter((other) => other.currencyCode !== price.currencyCode), price]
}

test('a snapshot made step by step lists what one made at once lists, to every tenant and since every moment', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 6 }), (steps) => {
      let stepwise = LoadedSnapshot.empty(context)
      const all: Change[] = []
      for (const step of steps) {
        // Building the ways to look in between is what could go stale.
        for (const currencyCode of ['USD', 'EUR']) stepwise.list({ tenantId: 'U', currencyCode }, { keyword: 'x' })
        all.push(...step)
        stepwise = stepwise.with(rowsAfter(all)(stepwise.changedAt))
      }
      const atOnce = LoadedSnapshot.empty(context).with(rowsAfter(all)(Number.NEGATIVE_INFINITY))
      // A new version without rows: nothing is remembered of earlier questions.
      const anew = (snapshot: LoadedSnapshot) => snapshot.with(rowsAfter(all)(all.length))
      for (const tenantId of ['T', 'U']) {
        for (const currencyCode of ['USD', 'EUR']) {
          const buyer = { tenantId, currencyCode }
          const both = (request: PackageListRequest) =>
            expect(anew(stepwise).list(buyer, request)).toEqual(anew(atOnce).list(buyer, request))
          both({})
          both({ keyword: 'y' })
          for (const since of all.keys()) both({ updatedSince: new Date(since).toISOString() })
        }
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)
