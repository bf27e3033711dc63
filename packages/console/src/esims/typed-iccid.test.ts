import { expect, it } from 'vitest'
import { isOnlyIccid, parseTypedIccid } from './typed-iccid.ts'

it.each([
  ['8985200012345678903', '8985200012345678903'],
  ['8985200012345678903F', '8985200012345678903'],
  ['898520001234567890FF', '898520001234567890'],
  ['898520001234567890ff', '898520001234567890'],
  ['8985 2000-1234 5678 903', '8985200012345678903'],
  ['ICCID: 89852000123456789033\n', '89852000123456789033'],
])('%j is accepted as the ICCID %s', (typed, iccid) => {
  expect(parseTypedIccid(typed)).toBe(iccid)
})

it.each(['', ' ', 'ICCID', '89852000123456789', '898520001234567890333'])(
  '%j is not accepted as a full ICCID',
  (typed) => {
    expect(parseTypedIccid(typed)).toBeUndefined()
  },
)

it.each(['8985200012345678903', '8985 2000-1234 5678 903', '898520001234567890ff'])(
  '%j cannot become an e-mail address',
  (typed) => {
    expect(isOnlyIccid(typed)).toBe(true)
  },
)

it.each(['mei', '12345678', 'ICCID: 8985200012345678903', 'f8985200012345678903', '8985200012345678903fff'])(
  '%j may become an e-mail address',
  (typed) => {
    expect(isOnlyIccid(typed)).toBe(false)
  },
)
