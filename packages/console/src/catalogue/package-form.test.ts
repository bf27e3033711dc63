import type { PackageDocument } from '@dealer-esim/gateway/catalogue/packages/package-document.ts'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { parseNetworks } from './networks.ts'
import { differs, emptyPrice, emptySupplier, errorAt, newPackage, parsePackage, typedPackage } from './package-form.ts'

// The browser's languages decide which texts are used, when the modules are loaded.
vi.hoisted(() => vi.stubGlobal('navigator', { languages: ['en-US'] }))
afterAll(() => void vi.unstubAllGlobals())

const JAPAN: PackageDocument = {
  ...{ packageCode: 'JP_1_7', slug: 'jp-1-7', packageType: 'BASE', productFamily: null, name: 'Japan 1 GB' },
  ...{
    description: null,
    status: 'ON_SALE',
    dataType: 'TOTAL',
    volume: 1_610_612_736,
    duration: 7,
    durationUnit: 'DAY',
  },
  ...{ periodNumMin: null, periodNumMax: null, unusedValidTime: 180, activationPolicy: 'ON_FIRST_NETWORK' },
  ...{ ekycRequired: false, locationCodes: ['JP'], speed: null, fupPolicy: null, smsStatus: 0, allowLoss: false },
  cancelPolicy: { cancellable: true, withinDays: 14, feePercent: 10 },
  locationNetworkList: [
    {
      ...{ locationCode: 'JP', locationName: 'Japan' },
      operatorList: [{ operatorName: 'NTT DOCOMO (Japan)', networkType: '5G' }],
    },
  ],
  prices: [
    { currencyCode: 'EUR', price: 41_000, retailPrice: null },
    { currencyCode: 'USD', price: 45_000, retailPrice: 74_900 },
  ],
  suppliers: [{ supplier: 'a', productCode: 'J1', costPrice: 27_000, costCurrency: 'USD' }],
}

describe('the package form', () => {
  it('sends nothing for an unchanged package', () => {
    const typed = typedPackage(JAPAN)
    expect(typed).toMatchObject({ volume: '1.5', volumeUnit: 'GB', withinDays: '14' })
    expect(parsePackage(typed, typedPackage(JAPAN))).toEqual({ members: {} })
    expect(differs(typed, typedPackage(JAPAN))).toBe(false)
  })

  it('sends only changed members, and a null price for each removed currency', () => {
    const before = typedPackage(JAPAN)
    const typed = { ...before, name: 'Japan', volume: '2', prices: before.prices.slice(1) }
    expect(differs(typed, before)).toBe(true)
    expect(parsePackage(typed, before)).toEqual({
      members: {
        name: 'Japan',
        volume: 2_147_483_648,
        prices: [
          { currencyCode: 'USD', price: 45_000, retailPrice: 74_900 },
          { currencyCode: 'EUR', price: null },
        ],
      },
    })
  })

  it('sends a new package with all its members and no empty rows', () => {
    const typed = { ...newPackage(), packageCode: 'NEW', name: 'New', locationCodes: ['JP'] }
    const parsed = parsePackage({ ...typed, suppliers: [emptySupplier()], prices: [emptyPrice()] })
    expect(parsed).toMatchObject({ members: { packageCode: 'NEW', volume: 1_073_741_824, prices: [], suppliers: [] } })
  })

  it('shows each mistake next to its input', () => {
    const before = typedPackage(JAPAN)
    const prices = [
      { ...before.prices[0]!, price: 'much' },
      { ...before.prices[1]!, price: '' },
    ]
    const typed = { ...before, duration: 'week', volume: '-1', withinDays: 'x', networks: 'Japan\nJP: DOCOMO', prices }
    const parsed = parsePackage(typed, before)
    const names = ['cancelPolicy.withinDays', 'duration', 'locationNetworkList', 'prices[0].price', 'prices[1].price']
    expect('errors' in parsed && Object.keys(parsed.errors).sort()).toEqual([...names, 'volume'])
  })

  it('sends a one-day duration and a range of days for a day pass', () => {
    const typed = { ...newPackage(), isDayPass: true, periodNumMin: '3', periodNumMax: '9', dataType: 'DAILY' }
    expect(parsePackage(typed)).toMatchObject({ members: { duration: 1, periodNumMin: 3, periodNumMax: 9 } })
  })

  it('reads one line of networks per country, and reports which line has a mistake', () => {
    expect(parseNetworks('jp: A (5G); B (LTE)\n\nKR Korea:')).toEqual({
      list: [
        {
          ...{ locationCode: 'JP', locationName: 'Japan' },
          operatorList: [
            { operatorName: 'A', networkType: '5G' },
            { operatorName: 'B', networkType: 'LTE' },
          ],
        },
        { locationCode: 'KR', locationName: 'Korea', operatorList: [] },
      ],
    })
    expect(parseNetworks('JP: A (5G)\nKR: B')).toEqual({ error: expect.stringContaining('2') })
  })

  it('shows an error beside the list, with the entry number, if the entry has no input of its own', () => {
    expect(errorAt({ 'locationCodes[1]': 'UK is not an ISO 3166-1 alpha-2 country code.' }, 'locationCodes')).toMatch(
      /2.*UK is not an ISO 3166-1/,
    )
    expect(errorAt({ name: 'Required.' }, 'name')).toBe('Required.')
    expect(errorAt({ name: 'Required.' }, 'slug')).toBeUndefined()
  })
})
