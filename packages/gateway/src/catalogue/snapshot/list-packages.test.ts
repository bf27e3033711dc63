import type { PackageListRequest } from '@dealer-esim/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ListSource } from '../catalogue.ts'
import { coverageOf } from '../coverage.ts'
import { tariffOf } from '../prices/quote.ts'
import { listPackages } from './list-packages.ts'
import { PackageIndex } from './package-index.ts'
import type { CataloguePackage } from './snapshot-package.ts'

const nothing = new Map()
const tariff = tariffOf(
  { plans: nothing, tenantPlans: nothing, tenantGroups: nothing, groupPlans: nothing, ownPrices: nothing },
  { tenantId: 'T', currencyCode: 'USD' },
)
const NOW = 1_700_000_000_000

function sourceOf(...packages: CataloguePackage[]): ListSource {
  const index = PackageIndex.empty.with(packages)
  const touchedAt = Float64Array.from(index.packages, (item) => item.updatedAt)
  const priced = new Uint8Array(packages.length).fill(1)
  return { index, touchedAt, priced, changedAt: NOW, tariff, now: NOW, linkKey: Buffer.alloc(32) }
}

function pack(members: Partial<CataloguePackage> & { packageCode: string; countries?: string[] }): CataloguePackage {
  const { countries = ['JP'], ...rest } = members
  const named = countries.filter((code) => !code.startsWith('!'))
  const networks = named.map((code) => ({ locationCode: code, locationName: `Land of ${code}`, operatorList: [] }))
  return {
    ...{ slug: rest.packageCode, name: rest.packageCode, description: null, dataType: 'TOTAL', volume: 1n },
    ...{ packageType: 'BASE', productFamily: null, periodNumMin: null, periodNumMax: null },
    ...{ cancelPolicy: { cancellable: false, withinDays: null, feePercent: 0 } },
    ...{ duration: 7, durationUnit: 'DAY', unusedValidTime: 180, activationPolicy: 'ON_INSTALL', ekycRequired: false },
    ...{
      speed: null,
      fupPolicy: null,
      smsStatus: 0,
      allowLoss: false,
      onSale: true,
      everOnSale: true,
      firstOnSaleAt: 1,
    },
    ...{
      saleChangedAt: 1,
      createdAt: 1,
      updatedAt: 1,
      touchedAt: 1,
      routes: [],
      coverage: coverageOf(countries, networks),
    },
    prices: [{ currencyCode: 'USD', price: 1n, retailPrice: null, removed: false, firstAt: 1, updatedAt: 1 }],
    ...rest,
  }
}

const list = (source: ListSource, request: PackageListRequest, tenantId = 'T', now = NOW) =>
  listPackages({ listSource: () => ({ ...source, now }) }, { tenantId, currencyCode: 'USD' }, request)
const codes = (source: ListSource, request: PackageListRequest) =>
  list(source, request).packageList.map((item) => item.packageCode)

test('pages of any size list every package once, newest first, even if some packages are off sale', () => {
  const packages = fc.uniqueArray(
    fc.record({
      packageCode: fc.string({ minLength: 1, maxLength: 3 }),
      createdAt: fc.integer({ min: 1, max: 5 }),
      onSale: fc.boolean(),
    }),
    { selector: (item) => item.packageCode, maxLength: 40 },
  )
  fc.assert(
    fc.property(packages, fc.integer({ min: 1, max: 10 }), (specs, pageSize) => {
      const source = sourceOf(...specs.map(pack))
      const seen: string[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = list(source, cursor ? { pageSize, cursor } : { pageSize })
        seen.push(...page.packageList.map((item) => item.packageCode))
        cursor = page.nextCursor
        expect(page.packageList.length).toBe(cursor ? pageSize : page.packageList.length)
      }
      const sorted = specs
        .filter((spec) => spec.onSale)
        .sort((a, b) => b.createdAt - a.createdAt || (a.packageCode < b.packageCode ? 1 : -1))
      expect(seen).toEqual(sorted.map((spec) => spec.packageCode))
    }),
  )
})

test('a page contains a hundred packages by default', () => {
  const source = sourceOf(...Array.from({ length: 103 }, (_, i) => pack({ packageCode: `P${i}` })))
  const { packageList, nextCursor } = list(source, {})
  expect(packageList).toHaveLength(100)
  const rest = list(source, { cursor: nextCursor! })
  expect([rest.packageList.length, rest.nextCursor]).toEqual([3, null])
})

describe('filters', () => {
  const source = sourceOf(
    pack({ packageCode: 'JP', createdAt: 9, name: 'Sakura 1 GB' }),
    pack({ packageCode: 'FR', createdAt: 8, countries: ['FR'], slug: 'france' }),
    pack({ packageCode: 'EU', createdAt: 7, countries: ['!RG', 'FR', 'DE'] }),
    pack({ packageCode: 'ASIA', createdAt: 6, countries: ['JP', 'KR'] }),
    pack({ packageCode: 'WORLD', createdAt: 5, countries: ['!GL', 'FR', 'JP'] }),
    pack({ packageCode: 'EVERYWHERE', createdAt: 4, countries: ['!GL'] }),
  )
  test.each<[PackageListRequest, string[]]>([
    [{ locationCode: 'JP' }, ['JP', 'ASIA', 'WORLD', 'EVERYWHERE']],
    [{ locationCode: 'DE' }, ['EU', 'EVERYWHERE']],
    [{ locationCode: 'BR' }, ['EVERYWHERE']],
    [{ locationCode: '!RG' }, ['EU', 'ASIA']],
    [{ locationCode: '!GL' }, ['WORLD', 'EVERYWHERE']],
    [{ packageCode: 'FR' }, ['FR']],
    [{ packageCode: 'fr' }, []],
    [{ slug: 'france' }, ['FR']],
    [{ keyword: 'sakura' }, ['JP']],
    [{ keyword: 'LAND of de' }, ['EU']],
    [{ keyword: 'gb sakura' }, ['JP']],
    [{ keyword: 'nowhere' }, []],
    [{ keyword: 'land of fr', locationCode: 'JP' }, ['WORLD']],
    [{ keyword: 'land', locationCode: 'FR', packageCode: 'EU' }, ['EU']],
    [{ slug: 'france', packageCode: 'JP' }, []],
  ])('%j', (request, expected) => {
    expect(codes(source, request)).toEqual(expected)
    const first = list(source, { ...request, pageSize: 1 })
    const rest = first.nextCursor ? codes(source, { ...request, cursor: first.nextCursor }) : []
    expect([...first.packageList.map((item) => item.packageCode), ...rest]).toEqual(expected)
  })
})

test('a cursor is valid only for its tenant and filters', () => {
  const source = sourceOf(pack({ packageCode: 'A' }), pack({ packageCode: 'B' }))
  const cursor = list(source, { pageSize: 1, locationCode: 'JP' }).nextCursor!
  expect(codes(source, { pageSize: 2, locationCode: 'JP', cursor })).toEqual(['A'])
  const refused = expect.objectContaining({ code: '000108' })
  expect(() => list(source, { pageSize: 1, cursor })).toThrow(refused)
  expect(() => list(source, { pageSize: 1, locationCode: 'KR', cursor })).toThrow(refused)
  expect(() => list(source, { pageSize: 1, locationCode: 'JP', cursor }, 'ANOTHER')).toThrow(refused)
})

test('asOf is later than everything in the answer, and advances even if nothing changes', () => {
  const source = sourceOf()
  const asOf = (now: number) => Date.parse(list(source, {}, 'T', now).asOf)
  expect(asOf(NOW - 5_000)).toBe(NOW + 1) // a clock behind the database's
  expect(asOf(NOW + 1_000)).toBe(NOW + 1)
  expect(asOf(NOW + 3_600_000)).toBe(NOW + 3_480_000)
})

describe('coversAll, volumeMin and durationMin', () => {
  const GB = 1_000_000_000n
  const source = sourceOf(
    pack({ packageCode: 'JP', createdAt: 9, volume: GB }),
    pack({ packageCode: 'ASIA', createdAt: 8, countries: ['!RG', 'JP', 'KR', 'TH'], volume: 5n * GB, duration: 30 }),
    pack({ packageCode: 'WORLD', createdAt: 7, countries: ['!GL'], dataType: 'UNLIMITED', volume: null, duration: 3 }),
    pack({
      ...{ packageCode: 'PASS', createdAt: 6, countries: ['JP', 'KR'], dataType: 'DAILY', volume: 2n * GB },
      ...{ duration: 1, periodNumMin: 1, periodNumMax: 20 },
    }),
    pack({
      ...{ packageCode: 'GONE', createdAt: 5, countries: ['FR'], volume: 1n, duration: 1 },
      ...{ onSale: false, saleChangedAt: 5 },
    }),
  )

  test.each<[PackageListRequest, string[]]>([
    [{ coversAll: ['JP'] }, ['JP', 'ASIA', 'WORLD', 'PASS']],
    [{ coversAll: ['KR', 'JP', 'KR'] }, ['ASIA', 'WORLD', 'PASS']],
    [{ coversAll: ['JP', 'FR'] }, ['WORLD']],
    [{ volumeMin: 2_000_000_000 }, ['ASIA', 'WORLD', 'PASS']],
    [{ volumeMin: 2_000_000_001 }, ['ASIA', 'WORLD']],
    [{ durationMin: 20 }, ['ASIA', 'PASS']],
    [{ durationMin: 21 }, ['ASIA']],
    [{ coversAll: ['JP', 'KR'], volumeMin: 1, durationMin: 2, locationCode: '!RG' }, ['ASIA', 'PASS']],
  ])('%j', (request, expected) => {
    expect(codes(source, request)).toEqual(expected)
  })

  test('packages taken off sale are listed regardless of these filters', () => {
    const request = { updatedSince: '1970-01-01T00:00:00.000Z', coversAll: ['JP', 'KR'], volumeMin: 1, durationMin: 25 }
    expect(codes(source, request)).toEqual(['ASIA', 'GONE'])
  })

  test('a cursor is valid for the same countries in any order and the same minimums', () => {
    const { nextCursor } = list(source, { coversAll: ['JP', 'KR'], volumeMin: 1, pageSize: 1 })
    const next = (request: PackageListRequest) => codes(source, { ...request, cursor: nextCursor! })
    expect(next({ coversAll: ['KR', 'JP', 'KR'], volumeMin: 1 })).toEqual(['WORLD', 'PASS'])
    for (const other of [{ coversAll: ['JP'], volumeMin: 1 }, { coversAll: ['JP', 'KR'] }, { volumeMin: 1 }]) {
      expect(() => next(other)).toThrow(expect.objectContaining({ code: '000108' }))
    }
  })
})
