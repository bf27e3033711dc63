import { MONEY_MAX } from '@dealer-esim/contract'
import fc from 'fast-check'
import { coverageOf } from '../../src/catalogue/coverage.ts'
import type { Assignment } from '../../src/catalogue/pricing/quote.ts'
import type { CatalogueChanges } from '../../src/catalogue/snapshot/load.ts'
import type { CataloguePackage, ListPrice } from '../../src/catalogue/snapshot/package.ts'

/* Made histories of a catalogue: changes one after the other, each stamped with its place among them, and the rows of the
 * database after some of them, as the rooms that make such changes leave them. */

const currency = fc.constantFrom('USD', 'EUR')
const plan = fc.constantFrom('P', 'Q')
const removed = fc.boolean()

/** Of one tenant, T, its group and its plans; other tenants pay by the list. */
export function changesOf(...codes: string[]) {
  const code = fc.constantFrom(...codes)
  return fc.oneof(
    fc.record({ kind: fc.constant('package' as const), code, onSale: fc.boolean(), name: fc.constantFrom('x', 'y') }),
    fc.record({ kind: fc.constant('price' as const), code, currency, removed, most: fc.boolean() }),
    fc.record({
      kind: fc.constant('rule' as const),
      plan,
      code: fc.oneof(code, fc.constant('')),
      currency: fc.oneof(currency, fc.constant('')),
      percent: fc.constantFrom(-1n, 10_000n),
      removed,
    }),
    fc.record({ kind: fc.constant('own' as const), code, removed }),
    fc.record({ kind: fc.constant('plan' as const), plan, removed }),
    fc.record({ kind: fc.constant('group' as const), removed }),
    fc.record({ kind: fc.constant('group plan' as const), plan, removed }),
  )
}
export type Change = ReturnType<typeof changesOf> extends fc.Arbitrary<infer Value> ? Value : never

type Packages = Map<string, CataloguePackage & { touched: number }>

/** What the database holds after these changes; of it, what is newer than a moment. */
export function rowsAfter(changes: readonly Change[]): (after: number) => CatalogueChanges {
  const packages: Packages = new Map()
  const rules = new Map<string, CatalogueChanges['planRules'][number]>()
  const own = new Map<string, CatalogueChanges['ownPrices'][number]>()
  const links = { plan: [] as Assignment[], group: [] as Assignment[], 'group plan': [] as Assignment[] }
  changes.forEach((one, i) => {
    const at = i + 1
    switch (one.kind) {
      case 'package':
        packages.set(one.code, switched(packages.get(one.code), one, at))
        break
      case 'price':
        setPrice(packages, one, at)
        break
      case 'rule': {
        const key = `${one.plan}/${one.code}/${one.currency}`
        if (!isMade(packages, rules.get(key), one)) break
        const amount = one.currency === '' ? { percent: one.percent, price: null } : { percent: null, price: BigInt(i) }
        const scope = { planName: one.plan, packageCode: one.code, currencyCode: one.currency }
        rules.set(key, { ...scope, ...amount, removed: one.removed, ...since(rules.get(key), at) })
        break
      }
      case 'own': {
        if (!isMade(packages, own.get(one.code), one)) break
        const row = { tenantId: 'T', packageCode: one.code, price: BigInt(i), removed: one.removed }
        own.set(one.code, { ...row, ...since(own.get(one.code), at) })
        break
      }
      case 'plan':
        links.plan = assigned(links.plan, 'T', one.removed ? null : one.plan, at)
        break
      case 'group':
        links.group = assigned(links.group, 'T', one.removed ? null : 'G', at)
        break
      case 'group plan':
        links['group plan'] = assigned(links['group plan'], 'G', one.removed ? null : one.plan, at)
        break
      default:
        one satisfies never
    }
  })
  return (after) => ({
    version: BigInt(changes.length),
    changedAt: changes.length,
    coverages: new Map(),
    packages: [...packages.values()].filter((item) => item.touched > after),
    planRules: [...rules.values()].filter((rule) => rule.updatedAt > after),
    ownPrices: [...own.values()].filter((price) => price.updatedAt > after),
    tenantPlans: links.plan.filter((link) => link.updatedAt > after),
    tenantGroups: links.group.filter((link) => link.updatedAt > after),
    groupPlans: links['group plan'].filter((link) => link.updatedAt > after),
  })
}

/** Rules and own prices are made for packages that exist; what is not there is not removed. */
function isMade(
  packages: Packages,
  before: { removed: boolean } | undefined,
  one: { code: string; removed: boolean },
): boolean {
  if (one.code !== '' && !packages.has(one.code)) return false
  return !one.removed || before?.removed === false
}

function switched(
  before: (CataloguePackage & { touched: number }) | undefined,
  { code: packageCode, onSale, name }: { code: string; onSale: boolean; name: string },
  at: number,
): CataloguePackage & { touched: number } {
  const base = before ?? fresh(packageCode, at)
  return {
    ...base,
    ...{ name, onSale, everOnSale: base.everOnSale || onSale, updatedAt: at, touched: at },
    firstOnSaleAt: !base.everOnSale && onSale ? at : base.firstOnSaleAt,
    saleChangedAt: before?.onSale === onSale ? before.saleChangedAt : at,
  }
}

function fresh(packageCode: string, createdAt: number): CataloguePackage {
  return {
    ...{ packageCode, slug: packageCode, name: 'x', description: null, dataType: 'TOTAL', volume: 1n, duration: 7 },
    ...{ durationUnit: 'DAY', unusedValidTime: 1, activationPolicy: 'ON_INSTALL', ekycRequired: false },
    ...{
      speed: null,
      fupPolicy: null,
      smsStatus: 0,
      allowLoss: false,
      onSale: false,
      everOnSale: false,
      firstOnSaleAt: 0,
    },
    ...{ saleChangedAt: createdAt, createdAt, updatedAt: createdAt, prices: [], routes: [] },
    coverage: coverageOf(['JP'], []),
  }
}

function setPrice(
  packages: Packages,
  one: { code: string; currency: string; removed: boolean; most: boolean },
  at: number,
): void {
  const item = packages.get(one.code)
  if (!item) return
  const before = item.prices.find((price) => price.currencyCode === one.currency)
  if (one.removed && before?.removed !== false) return
  const price: ListPrice = {
    currencyCode: one.currency,
    price: one.most ? BigInt(MONEY_MAX) : BigInt(at),
    ...{ retailPrice: null, removed: one.removed, ...since(before, at) },
  }
  const others = item.prices.filter((other) => other.currencyCode !== one.currency)
  packages.set(one.code, { ...item, prices: [...others, price], touched: at })
}

/** A tenant has one plan and is in one group at most; a group has one plan. */
function assigned(rows: readonly Assignment[], owner: string, target: string | null, at: number): Assignment[] {
  if ((rows.find((row) => !row.removed)?.target ?? null) === target) return [...rows]
  const ended = rows.map((row) => (row.removed ? row : { ...row, removed: true, updatedAt: at }))
  if (target === null) return ended
  const before = rows.find((row) => row.target === target)
  const others = ended.filter((row) => row.target !== target)
  return [...others, { owner, target, removed: false, ...since(before, at) }]
}

function since(before: { firstAt: number } | undefined, at: number) {
  return { firstAt: before?.firstAt ?? at, updatedAt: at }
}
