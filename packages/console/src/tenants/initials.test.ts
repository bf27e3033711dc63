import { expect, it } from 'vitest'
import { initials, tintOf } from './initials.ts'

it.each([
  ['Lotus Travel', 'LT'],
  ['Baltic Air & Sea Club', 'BC'],
  ['Acme', 'AC'],
  ['  müller  travel ', 'MT'],
  ['株式会社', '株式'],
  ['X', 'X'],
  ['!!!', '?'],
])('the initials of %s are %s', (name, letters) => {
  expect(initials(name)).toBe(letters)
})

it('a name always gets the same tint', () => {
  expect(tintOf('Lotus Travel')).toBe(tintOf('Lotus Travel'))
  expect(
    new Set(['Kite', 'Lotus', 'Sakura', 'Nomad', 'Baltic', 'Meridian', 'Harbour'].map(tintOf)).size,
  ).toBeGreaterThan(2)
})
