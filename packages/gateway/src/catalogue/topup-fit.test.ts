import { describe, expect, it } from 'vitest'
import { coverageOf } from './coverage.ts'
import type { CataloguePackage, Route } from './snapshot/snapshot-package.ts'
import { fitKeys, fitsEsim } from './topup-fit.ts'

const route = (supplier: string): Route => ({ supplier, productCode: 'P', cost: null, costCurrency: null })

function pack(members: Partial<CataloguePackage>): CataloguePackage {
  const own = { packageType: 'BASE', productFamily: null, dataType: 'TOTAL', routes: [route('a'), route('b')] }
  return { ...own, coverage: coverageOf(['JP', 'KR'], []), ...members } as CataloguePackage
}

const base = pack({})
const topUp = (members: Partial<CataloguePackage> = {}) => pack({ packageType: 'TOPUP', ...members })

describe('a top-up fits an eSIM', () => {
  it('from the same supplier, regardless of the order of its locations', () => {
    expect(fitsEsim(topUp({ coverage: coverageOf(['KR', 'JP'], []) }), base, 'a')).toBe(true)
    expect(fitsEsim(topUp({ routes: [route('b')] }), base, 'b')).toBe(true)
    expect(fitsEsim(topUp({ routes: [route('b')] }), base, 'a')).toBe(false)
  })

  it.each<[string, Partial<CataloguePackage>]>([
    ['another product family', { productFamily: 'x' }],
    ['another kind of data volume', { dataType: 'DAILY' }],
    ['a narrower coverage', { coverage: coverageOf(['JP'], []) }],
    ['the type BASE', { packageType: 'BASE' }],
  ])('unless the top-up has %s, even from the same supplier', (_, members) => {
    expect(fitsEsim(topUp(members), base, 'a')).toBe(false)
  })

  it('and shares its index keys, one for each supplier', () => {
    expect(fitKeys(topUp())).toEqual(fitKeys(base))
    expect(fitKeys(topUp({ routes: [route('a'), route('a')] }))).toHaveLength(1)
  })
})
