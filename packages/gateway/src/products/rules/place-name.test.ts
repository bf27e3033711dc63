import { countries as KNOWN } from 'countries-list'
import { expect, it } from 'vitest'
import { placeOf } from './place-name.ts'

const on = (...continents: string[]) =>
  Object.entries(KNOWN)
    .filter(([, { continent }]) => continents.includes(continent))
    .map(([code]) => code)

it.each([
  [['JP'], '', 'Japan'],
  [['KR', 'JP'], '', 'Japan and South Korea'],
  [['DE', 'AT', 'CH'], '', 'Austria, Germany and Switzerland'],
  [['!RG-Western Europe'], '', 'Western Europe'],
  [['!RG-Asia', '!RG-Africa'], '', 'Asia and Africa'],
  [on('AS').slice(0, 13), 'Asia 2GB/Day', 'Asia'],
  [on('EU'), 'Europe (30+ areas) 10GB 30Days', 'Europe'],
  [on('SA'), 'South America 1GB 7Days', 'South America'],
  [on('SA'), 'Middle East & Africa, 1 GB', 'Middle East & Africa'],
  [[...on('EU'), 'TR', 'IL'], '42 areas', 'Europe'],
  [on('AS', 'OC').slice(0, 14), 'eSIM 13 areas', 'Asia-Pacific'],
  [on('AS', 'OC', 'EU', 'NA', 'AF'), '5GB', 'Global'],
  [on('EU').slice(0, 5), '5GB', '5 countries'],
  [on('EU').slice(0, 5), 'Roaming plan 5GB', '5 countries'],
  [on('SA'), '5GB', `${on('SA').length} countries`],
  [['XX', 'YY', 'ZZ', 'JP'], '', '4 countries'],
])('the countries %j, sold as “%s”, are summarised as %s', (countries, name, place) => {
  expect(placeOf({ countries, name })).toBe(place)
})
