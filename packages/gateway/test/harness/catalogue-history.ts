import { MONEY_MAX } from '@dealer-esim/contract'
import fc from 'fast-check'
import { coverageOf } from '#catalogue/coverage.ts'
import { NO_ROUNDING } from '#catalogue/prices/price-engine.ts'
import type { Assignment } from '#catalogue/prices/quote.ts'
import type { CatalogueChanges } from '#catalogue/snapshot/load-snapshot.ts'
import type { CataloguePackage, ListPrice } from '#catalogue/snapshot/snapshot-package.ts'

/*
 * Random histories of a catalogue: a sequence of changes, timed by their position, and the database rows that the catalogue
 * module leaves after some of them.
 */

const currency = fc.constantFrom('USD', 'EUR')
const plan = fc.constantFrom('P', 'Q')
const removed = fc.boolean()
const SUPPLIERS = ['sandbox', 'other'] as const
/** When a rule begins, as a position in the history, and how long after the change it ends. */
const validity = { from: fc.constantFrom(null, 3, 9), lasts: fc.constantFrom(null, 4) }

/**
 * Changes to packages and to the prices of one tenant (T), its group and its plans. Other tenants pay list prices. A code
 * that ends in _TOPUP is a TOPUP package; it fits the eSIMs of all others.
 */
export function arbitraryChanges(...codes: string[]) {
  const code = fc.constantFrom(...codes)
  return fc.oneof(
    fc.record({ kind: fc.constant('package' as const), code, onSale: fc.boolean(), name: fc.constantFrom('x', 'y') }),
    fc.record({ kind: fc.constant('price' as const), code, currency, removed, isMaximum: fc.boolean() }),
    fc.record({
      kind: fc.constant('rule' as const),
      plan,
      code: fc.oneof(code, fc.constant('')),
      currency: fc.oneof(currency, fc.constant('')),
      percent: fc.constantFrom(-1n, 10_000n),
      isOfCost: fc.boolean(),
      ...validity,
      removed,
    }),
    fc.record({
      kind: fc.constant('wide rule' as const),
      plan,
      of: fc.constantFrom('JP', 'KR', ...SUPPLIERS),
      percent: fc.constantFrom(20_000n, 30_000n),
      ...validity,
      removed,
    }),
    fc.record({ kind: fc.constant('cost' as const), code, currency, isKnown: fc.boolean() }),
    fc.record({ kind: fc.constant('supplier' as const), code, supplier: fc.constantFrom(...SUPPLIERS) }),
    fc.record({ kind: fc.constant('own' as const), code, removed }),
    fc.record({ kind: fc.constant('plan' as const), plan, removed }),
    fc.record({ kind: fc.constant('group' as const), removed }),
    fc.record({ kind: fc.constant('group plan' as const), plan, removed }),
  )
}
export type Change = ReturnType<typeof arbitraryChanges> extends fc.Arbitrary<infer Value> ? Value : never

type Packages = Map<string, CataloguePackage>

/** The rows after these changes. @returns a function that selects the rows newer than a given time */
export function rowsAfter(changes: readonly Change[]): (after: number) => CatalogueChanges {
  const packages: Packages = new Map()
  const rules = new Map<string, CatalogueChanges['planRules'][number]>()
  const own = new Map<string, CatalogueChanges['ownPrices'][number]>()
  const links = { plan: [] as Assignment[], group: [] as Assignment[], 'group plan': [] as Assignment[] }
  changes.forEach((change, i) => {
    const at = i + 1
    switch (change.kind) {
      case 'package':
        packages.set(change.code, withSaleStatus(packages.get(change.code), change, at))
        break
      case 'price':
        setPrice(packages, change, at)
        break
      case 'rule': {
        const key = `${change.plan}/${change.code}/${change.currency}/${change.from}`
        const period = validityOf(change, at)
        if (!period || !takesEffect(packages, rules.get(key), change)) break
        const amount =
          change.currency === '' ? { percent: change.percent, price: null } : { percent: null, price: BigInt(i) }
        const terms = { basis: change.isOfCost ? ('COST' as const) : ('LIST' as const), rounding: NO_ROUNDING }
        const scope = change.code === '' ? ('ALL' as const) : ('PACKAGE' as const)
        const identity = { planName: change.plan, scope, target: change.code, currencyCode: change.currency, ...period }
        rules.set(key, { ...identity, ...amount, ...terms, removed: change.removed, ...timestamps(rules.get(key), at) })
        break
      }
      case 'wide rule': {
        const key = `${change.plan}/${change.of}/${change.from}`
        const period = validityOf(change, at)
        if (!period || (change.removed && rules.get(key)?.removed !== false)) break
        const scope = change.of.length === 2 ? ('LOCATION' as const) : ('SUPPLIER' as const)
        const identity = { planName: change.plan, scope, target: change.of, currencyCode: '', ...period }
        const terms = { percent: change.percent, price: null, basis: 'LIST' as const, rounding: NO_ROUNDING }
        rules.set(key, { ...identity, ...terms, removed: change.removed, ...timestamps(rules.get(key), at) })
        break
      }
      case 'cost': {
        const item = packages.get(change.code)
        const { supplier } = item?.routes[0] ?? ROUTE
        const cost = change.isKnown ? { cost: BigInt(i), costCurrency: change.currency } : {}
        if (item) packages.set(change.code, { ...item, routes: [{ ...ROUTE, supplier, ...cost }], touchedAt: at })
        break
      }
      case 'supplier':
        setSupplier(packages, change, at)
        break
      case 'own': {
        if (!takesEffect(packages, own.get(change.code), change)) break
        const row = { tenantId: 'T', packageCode: change.code, price: BigInt(i), removed: change.removed }
        own.set(change.code, { ...row, ...timestamps(own.get(change.code), at) })
        break
      }
      case 'plan':
        links.plan = withAssignment(links.plan, 'T', change.removed ? null : change.plan, at)
        break
      case 'group':
        links.group = withAssignment(links.group, 'T', change.removed ? null : 'G', at)
        break
      case 'group plan':
        links['group plan'] = withAssignment(links['group plan'], 'G', change.removed ? null : change.plan, at)
        break
      default:
        change satisfies never
    }
  })
  return (after) => ({
    version: BigInt(changes.length),
    changedAt: changes.length,
    coverages: new Map(),
    packages: [...packages.values()].filter((item) => item.touchedAt > after),
    planRules: [...rules.values()].filter((rule) => rule.updatedAt > after),
    ownPrices: [...own.values()].filter((price) => price.updatedAt > after),
    tenantPlans: links.plan.filter((link) => link.updatedAt > after),
    tenantGroups: links.group.filter((link) => link.updatedAt > after),
    groupPlans: links['group plan'].filter((link) => link.updatedAt > after),
  })
}

/** undefined: it would end before it begins. */
function validityOf({ from, lasts }: { from: number | null; lasts: number | null }, at: number) {
  const validFrom = from ?? Number.NEGATIVE_INFINITY
  const validUntil = lasts === null ? Number.POSITIVE_INFINITY : at + lasts
  return validFrom < validUntil ? { validFrom, validUntil } : undefined
}

/** Rules and individual prices need an existing package, and only existing things can be removed. */
function takesEffect(
  packages: Packages,
  before: { removed: boolean } | undefined,
  change: { code: string; removed: boolean },
): boolean {
  if (change.code !== '' && !packages.has(change.code)) return false
  return !change.removed || before?.removed === false
}

function withSaleStatus(
  before: CataloguePackage | undefined,
  { code: packageCode, onSale, name }: { code: string; onSale: boolean; name: string },
  at: number,
): CataloguePackage {
  const base = before ?? newPackage(packageCode, at)
  return {
    ...base,
    ...{ name, onSale, everOnSale: base.everOnSale || onSale, updatedAt: at, touchedAt: at },
    firstOnSaleAt: !base.everOnSale && onSale ? at : base.firstOnSaleAt,
    saleChangedAt: before?.onSale === onSale ? before.saleChangedAt : at,
  }
}

function newPackage(packageCode: string, createdAt: number): CataloguePackage {
  return {
    ...{ packageCode, slug: packageCode, name: 'x', description: null, dataType: 'TOTAL', volume: 1n, duration: 7 },
    packageType: packageCode.endsWith('_TOPUP') ? 'TOPUP' : 'BASE',
    ...{ productFamily: null, periodNumMin: null, periodNumMax: null },
    ...{ cancelPolicy: { cancellable: false, withinDays: null, feePercent: 0 } },
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
    ...{ saleChangedAt: createdAt, createdAt, updatedAt: createdAt, touchedAt: createdAt, prices: [], routes: [ROUTE] },
    coverage: coverageOf(['JP'], []),
  }
}

const ROUTE = { supplier: 'sandbox', productCode: 'P', cost: null, costCurrency: null }

function setPrice(
  packages: Packages,
  change: { code: string; currency: string; removed: boolean; isMaximum: boolean },
  at: number,
): void {
  const item = packages.get(change.code)
  if (!item) return
  const before = item.prices.find((price) => price.currencyCode === change.currency)
  if (change.removed && before?.removed !== false) return
  const price: ListPrice = {
    currencyCode: change.currency,
    price: change.isMaximum ? BigInt(MONEY_MAX) : BigInt(at),
    ...{ retailPrice: null, removed: change.removed, ...timestamps(before, at) },
  }
  const others = item.prices.filter((other) => other.currencyCode !== change.currency)
  packages.set(change.code, { ...item, prices: [...others, price], touchedAt: at })
}

/** A move is visible to dealers as a change of the package and, for a TOPUP package, of those whose eSIMs it fitted. */
function setSupplier(packages: Packages, { code, supplier }: { code: string; supplier: string }, at: number): void {
  const item = packages.get(code)
  if (!item) return
  const former = item.routes[0]!.supplier
  const seen = supplier === former ? {} : { updatedAt: at }
  packages.set(code, { ...item, ...seen, routes: [{ ...ROUTE, supplier }], touchedAt: at })
  if (item.packageType === 'BASE' || supplier === former) return
  for (const base of packages.values()) {
    if (base.packageType !== 'BASE' || base.routes[0]!.supplier !== former) continue
    packages.set(base.packageCode, { ...base, updatedAt: at, touchedAt: at })
  }
}

/** A tenant has one plan and is in at most one group; a group has one plan. */
function withAssignment(rows: readonly Assignment[], owner: string, target: string | null, at: number): Assignment[] {
  if ((rows.find((row) => !row.removed)?.target ?? null) === target) return [...rows]
  const ended = rows.map((row) => (row.removed ? row : { ...row, removed: true, updatedAt: at }))
  if (target === null) return ended
  const before = rows.find((row) => row.target === target)
  const others = ended.filter((row) => row.target !== target)
  return [...others, { owner, target, removed: false, ...timestamps(before, at) }]
}

function timestamps(before: { firstAt: number } | undefined, at: number) {
  return { firstAt: before?.firstAt ?? at, updatedAt: at }
}
