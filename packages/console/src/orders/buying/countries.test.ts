import { expect, it, vi } from 'vitest'

vi.stubGlobal('navigator', { languages: ['en'] })
const { locationName, sortLocations } = await import('./countries.ts')

it('a location is shown by name', () => {
  expect(['JP', '!GL'].map(locationName)).toEqual(['Japan', 'Global'])
})

it('locations are sorted by name rather than code, and those with several countries come first', () => {
  expect(sortLocations(['CH', 'AT', '!RG', 'DE'])).toEqual(['!RG', 'AT', 'DE', 'CH'])
})
