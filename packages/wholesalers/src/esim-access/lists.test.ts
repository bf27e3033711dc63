import { expect, it } from 'vitest'
import { Unreadable } from '#unreadable-entry.ts'
import { productOf } from './lists.ts'

const GB = 1_073_741_824
const PACKAGE = {
  ...{ packageCode: 'P1', name: 'Japan 1 GB', price: 12_000, currencyCode: 'USD', location: 'JP' },
  ...{ volume: GB, dataType: 1, duration: 7, durationUnit: 'DAY' },
}

it.each([
  ['with a total volume keeps its duration', {}, { volume: BigInt(GB), isDayPass: false, durationDays: 7 }],
  ['of a month lasts 30 days', { duration: 1, durationUnit: 'MONTH' }, { durationDays: 30 }],
  ['of two months lasts 60 days', { duration: 2, durationUnit: 'months' }, { durationDays: 60 }],
  ['of a year lasts 365 days', { duration: 1, durationUnit: 'YEAR(S)' }, { durationDays: 365 }],
  ['of 48 hours lasts two days', { duration: 48, durationUnit: 'HOURS' }, { durationDays: 2 }],
  ['with a condition of fair use keeps it', { fupPolicy: '384 Kbps' }, { fupPolicy: '384 Kbps' }],
  ['of one day with a daily volume is a day pass', { dataType: 2, duration: 1 }, { isDayPass: true, durationDays: 1 }],
  ['whose location ends in a comma has its countries', { location: 'US,CA,' }, { countries: ['US', 'CA'] }],
  ['with an unlimited daily volume is unlimited', { dataType: 4 }, { volume: null, isDayPass: false }],
])('a package %s', (_, changes, product) => {
  expect(productOf({ ...PACKAGE, ...changes }, 'BASE')).toMatchObject(product)
})

it.each([2, 3])('a package for several days with a daily volume is left out (dataType %i)', (dataType) => {
  expect(productOf({ ...PACKAGE, dataType }, 'BASE')).toBeUndefined()
})

it.each(['packageCode', 'name', 'price', 'duration'])('a package without %s is unreadable', (member) => {
  expect(productOf({ ...PACKAGE, [member]: undefined }, 'BASE')).toBeInstanceOf(Unreadable)
})
