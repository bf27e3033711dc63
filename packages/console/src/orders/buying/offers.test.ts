import type { BuyablePackage } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import { expect, it } from 'vitest'
import { gridOf, marginOf, sortOffers, toggleOffer, totalOf } from './offers.ts'

const GB = 1_000_000_000
const offer = (packageCode: string, volume: number | null, duration: number, price: number, more = {}) =>
  ({
    ...{ packageCode, volume, duration, price, dataType: 'TOTAL', periodNumMin: null, periodNumMax: null },
    ...{ retailPrice: null, currencyCode: 'USD', name: packageCode, place: 'JP', locationCodes: ['JP'] },
    ...more,
  }) as BuyablePackage

const offers = [
  offer('UNLIMITED', null, 7, 90_000),
  offer('FIVE', 5 * GB, 3, 30_000, { retailPrice: 49_000 }),
  offer('ONE', GB, 7, 12_000, { retailPrice: 15_000 }),
  offer('FIVE_FAST', 5 * GB, 3, 35_000),
  offer('DAILY', GB, 1, 5_000, { dataType: 'DAILY', periodNumMin: 1, periodNumMax: 30 }),
]

it('the grid has a column per data volume and a row per duration, with the cheapest package first', () => {
  const { columns, rows } = gridOf(offers)
  expect(columns.map((one) => one.packageCode)).toEqual(['ONE', 'FIVE', 'DAILY', 'UNLIMITED'])
  expect(rows.map(({ first }) => first.packageCode)).toEqual(['DAILY', 'FIVE', 'UNLIMITED'])
  expect(rows.map(({ cells }) => cells.map((cell) => cell.map((one) => one.packageCode)))).toEqual([
    [[], [], ['DAILY'], []],
    [[], ['FIVE', 'FIVE_FAST'], [], []],
    [['ONE'], [], [], ['UNLIMITED']],
  ])
})

it('packages can be sorted by price, data, days and the dealer’s profit', () => {
  const sorted = (by: Parameters<typeof sortOffers>[1]) => sortOffers(offers, by).map((one) => one.packageCode)
  expect(sorted('price')).toEqual(['DAILY', 'ONE', 'FIVE', 'FIVE_FAST', 'UNLIMITED'])
  expect(sorted('data')).toEqual(['ONE', 'FIVE', 'FIVE_FAST', 'DAILY', 'UNLIMITED'])
  expect(sorted('days')).toEqual(['DAILY', 'FIVE', 'FIVE_FAST', 'ONE', 'UNLIMITED'])
  expect(sorted('margin').slice(0, 2)).toEqual(['FIVE', 'ONE'])
  expect(marginOf(offers[0]!)).toBeNull()
})

it('clicking a price again removes the package, and the total counts eSIMs and days', () => {
  const once = toggleOffer([], offers[1]!)
  expect(toggleOffer(once, offers[1]!)).toEqual([])
  const lines = toggleOffer(once, offers[4]!).map((line) => ({ ...line, count: 2 }))
  expect(totalOf([lines[0]!, { ...lines[1]!, days: 10 }])).toBe(2 * 30_000 + 2 * 10 * 5_000)
})
