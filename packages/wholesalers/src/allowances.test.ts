import { describe, expect, it } from 'vitest'
import { describeIncluded, includedIn, includedOf } from './allowances.ts'

describe('a package’s calls and SMS', () => {
  it.each([
    [{ minutes: 100, sms: 20 }, '100 minutes of calls and 20 SMS'],
    [{ minutes: '100' }, '100 minutes of calls'],
    [{ minutes: 'Unlimited', sms: '20.0' }, 'unlimited calls and 20 SMS'],
    [{ minutes: -1 }, undefined],
    [{ sms: true }, 'SMS'],
    [{ minutes: true, sms: true }, 'calls and SMS'],
    [{ minutes: true, sms: 20 }, 'calls and 20 SMS'],
    [{ minutes: 0, sms: '' }, undefined],
    [{ minutes: null }, undefined],
    [{ minutes: 'some', sms: {} }, undefined],
  ])('%j are described as “%s”', (allowances, text) => {
    expect(includedOf(allowances)).toBe(text)
  })

  it('are recognised only in a description that we wrote', () => {
    for (const text of ['100 minutes of calls and 20 SMS', 'unlimited calls', '20 SMS', 'calls and SMS', 'SMS']) {
      expect(includedIn(describeIncluded(text))).toBe(text)
    }
    for (const other of ['Includes a hotel.', 'With 20 SMS.', null, 7]) expect(includedIn(other)).toBeUndefined()
  })
})
