import type { Place } from '@dealer-esim/gateway/http/console/orders/buyable-packages.ts'
import { expect, it } from 'vitest'
import { readTyped, searchPlaces, sortPlaces } from './place-search.ts'

const places = ['KP', 'KR', 'US', 'GB', 'CW', 'CI', 'Europe', 'South Korea and Japan'].map(
  (place) => ({ place, locationCode: place, from: 0, currencyCode: 'USD', packages: 1 }) as Place,
)

it.each([
  ['korea', ['KR', 'KP', 'South Korea and Japan']],
  ['South Kor', ['KR', 'South Korea and Japan']],
  ['usa', ['US']],
  ['UK', ['GB']],
  ['curacao', ['CW']],
  ['Curaçao', ['CW']],
  ['ivory', ['CI']],
  ['eur', ['Europe']],
  ['nowhere', []],
])('searching for “%s” finds the places that a person would expect', (text, found) => {
  expect(searchPlaces(places, readTyped(text).words).map(({ place }) => place)).toEqual(found)
})

it('a data volume and a number of days are recognised beside the place, and are not part of its name', () => {
  const once = { isDaily: false }
  expect(readTyped('Korea 1 GB')).toEqual({ words: ['korea'], volume: 1_000_000_000, days: undefined, ...once })
  expect(readTyped('japan 500mb 7 days')).toEqual({ words: ['japan'], volume: 500_000_000, days: 7, ...once })
  expect(readTyped('')).toEqual({ words: [], volume: undefined, days: undefined, ...once })
  for (const text of ['japan 1 GB per day', 'japan 1gb/day', 'japan 1 gb a day', 'Japan daily 1gb'])
    expect(readTyped(text)).toEqual({ words: ['japan'], volume: 1_000_000_000, days: undefined, isDaily: true })
})

it('places are sorted by name', () => {
  expect(sortPlaces(places).map(({ place }) => place)[0]).toBe('CI')
})
