import { expect, it, vi } from 'vitest'

vi.stubGlobal('navigator', { languages: ['en'] })
const { flagOf, locationName, sortLocations } = await import('./countries.ts')

it('a country has its flag and its name, and other locations the globe', () => {
  expect([flagOf('JP'), locationName('JP')]).toEqual(['🇯🇵', 'Japan'])
  expect([flagOf('!GL'), locationName('!GL')]).toEqual(['🌐', 'Global'])
})

it('locations are sorted by name, not by code, and those of several countries come first', () => {
  expect(sortLocations(['CH', 'AT', '!RG', 'DE'])).toEqual(['!RG', 'AT', 'DE', 'CH'])
})
