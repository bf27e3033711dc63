import { expect, it } from 'vitest'
import { roundNumbers } from '../../../light-libraries.ts'

it('numbers of a flag’s path are rounded and stay apart', () => {
  expect(roundNumbers('m47.8 138.9-4-12.8H26.2l.4.5')).toBe('m48 139-4-13H26l0 1')
  expect(roundNumbers('M12.8-.3 4.6')).toBe('M13 0 5')
  expect(roundNumbers('M0 0h513v342H0z')).toBe('M0 0h513v342H0z')
})
