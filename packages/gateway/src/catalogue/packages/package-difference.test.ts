import { describe, expect, it } from 'vitest'
import { mergePackage } from './merge-packages.ts'
import { listDifferences, warningsOf } from './package-difference.ts'
import type { PackageDocument } from './package-document.ts'

const supplier = (costPrice: number | null, productCode = 'ZA_1_7') => ({
  ...{ supplier: 'sandbox', productCode, costPrice },
  costCurrency: costPrice === null ? null : 'USD',
})

const price = (amount: number, currencyCode = 'USD') => ({ currencyCode, price: amount, retailPrice: null })

function documentOf(members: Partial<PackageDocument>): PackageDocument {
  const merged = mergePackage(undefined, {
    ...{ packageCode: 'ZA', name: 'South Africa', dataType: 'TOTAL', volume: 1024, duration: 7, locationCodes: ['ZA'] },
    ...{ prices: [price(49_000)], suppliers: [supplier(30_000)] },
    ...members,
  })
  if (!('document' in merged)) throw new Error(JSON.stringify(merged))
  return merged.document
}

const linesOf = (before: Partial<PackageDocument>, after: Partial<PackageDocument>) =>
  listDifferences({ before: documentOf(before), after: documentOf(after) })

describe('a list of package differences', () => {
  it('is empty if nothing differs', () => {
    expect(linesOf({}, {})).toEqual([])
  })

  it('flags a price that falls by more than half or below the lowest cost', () => {
    expect(linesOf({}, { prices: [price(100)] })).toMatchObject([
      { kind: 'PRICE', before: 49_000, after: 100, change: 100 / 49_000 - 1, warnings: ['PRICE_FALLS', 'BELOW_COST'] },
    ])
    expect(linesOf({}, { prices: [price(30_000)] })).toMatchObject([{ cost: 30_000, warnings: [] }])
    const dearer = [supplier(90_000), supplier(20_000, 'other')]
    expect(warningsOf(linesOf({ suppliers: dearer }, { suppliers: dearer, prices: [price(30_000)] }))).toEqual([])
    expect(warningsOf(linesOf({ suppliers: [supplier(null)] }, { suppliers: [supplier(null)], prices: [] }))).toEqual([
      'PRICE_REMOVED',
    ])
  })

  it('flags an unchanged price once when the cost rises above the price', () => {
    const dear = { suppliers: [supplier(50_000)] }
    expect(linesOf({}, dear)).toMatchObject([
      { kind: 'PRICE', before: 49_000, after: 49_000, warnings: ['BELOW_COST'] },
      { kind: 'SUPPLIER', place: 1, before: { costPrice: 30_000 }, after: { costPrice: 50_000 } },
    ])
    expect(linesOf(dear, { ...dear, name: 'ZA' })).toMatchObject([{ kind: 'MEMBER', member: 'name', after: 'ZA' }])
  })

  it('contains prices by currency, suppliers by position, and added and removed locations', () => {
    const after = {
      prices: [price(45_000, 'EUR'), { ...price(49_000), retailPrice: 60_000 }],
      suppliers: [supplier(30_000), supplier(null, 'P')],
      locationCodes: ['LS', 'SZ'],
    }
    const lines = linesOf({}, after)
    expect(lines).toContainEqual(expect.objectContaining({ kind: 'PRICE', currencyCode: 'EUR', before: null }))
    expect(lines).toContainEqual(expect.objectContaining({ kind: 'RETAIL_PRICE', before: null, after: 60_000 }))
    expect(lines).toContainEqual({ kind: 'SUPPLIER', place: 2, before: null, after: supplier(null, 'P') })
    expect(lines).toContainEqual({ kind: 'PLACES', added: ['LS', 'SZ'], removed: ['ZA'] })
    expect(lines.filter(({ kind }) => kind !== 'MEMBER')).toHaveLength(4)
  })

  it('contains the prices and suppliers of a new package, with the same flags', () => {
    const lines = listDifferences({ before: undefined, after: documentOf({ prices: [price(20_000)] }) })
    expect(lines.map((line) => line.kind)).toEqual(['PRICE', 'SUPPLIER'])
    expect(warningsOf(lines)).toEqual(['BELOW_COST'])
  })
})
