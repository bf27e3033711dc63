import { expect, it } from 'vitest'
import { Unreadable } from '#unreadable-entry.ts'
import type { RtAnswer } from './client.ts'
import { listTopUpsOf, productOf } from './lists.ts'
import { currentPrice } from './purchase.ts'

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

it('a list of top-ups without a readable entry does not say what an eSIM accepts, and an empty one does', async () => {
  const answering = (packageList: unknown[]) => async (): Promise<RtAnswer> => ({ kind: 'done', obj: { packageList } })
  const topUp = { key: 'KEY', iccid: '8999900000000000017', matchingId: 'M' }
  const [odd, empty] = [answering([null, 7]), answering([])]
  expect(await listTopUpsOf(odd, topUp.iccid)).toBeUndefined()
  expect(await listTopUpsOf(empty, topUp.iccid)).toEqual({ productCodes: [] })
  expect(await currentPrice(odd, { productCode: 'P', topUp })).toMatchObject({ kind: 'retry' })
  expect(await currentPrice(empty, { productCode: 'P', topUp })).toMatchObject({ kind: 'refused' })
})
