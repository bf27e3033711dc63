import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { androidInstallUrl, appleInstallUrl, buildActivationCode, parseActivationCode } from './activation-code.ts'
import {
  isEid,
  isIccid,
  luhnDigit,
  makeEid,
  makeIccid,
  padIccid,
  passesLuhn,
  stripIccidPadding,
} from './identifiers.ts'

const sentence = expect.stringMatching(/^The .+\.$/)

describe('activation codes', () => {
  test.each([
    [
      'LPA:1$smdp.example.com$ABC-1',
      { smdpAddress: 'smdp.example.com', matchingId: 'ABC-1', confirmationCodeRequired: false },
    ],
    ['LPA:1$smdp.example.com$', { smdpAddress: 'smdp.example.com', matchingId: '', confirmationCodeRequired: false }],
    [
      'LPA:1$smdp.example.com$ABC-1$$1',
      { smdpAddress: 'smdp.example.com', matchingId: 'ABC-1', confirmationCodeRequired: true },
    ],
    [
      'LPA:1$smdp.example.com$ABC-1$1.3.6.1.4.1.31746$1',
      {
        smdpAddress: 'smdp.example.com',
        matchingId: 'ABC-1',
        smdpOid: '1.3.6.1.4.1.31746',
        confirmationCodeRequired: true,
      },
    ],
    [
      'LPA:1$smdp.example.com$ABC-1$1.3.6.1.4.1.31746',
      {
        smdpAddress: 'smdp.example.com',
        matchingId: 'ABC-1',
        smdpOid: '1.3.6.1.4.1.31746',
        confirmationCodeRequired: false,
      },
    ],
  ])('%s', (text, value) => {
    expect(parseActivationCode(text)).toEqual({ ok: true, value })
    expect(buildActivationCode(value)).toBe(text)
  })

  test.each(['1$smdp.example.com$ABC', 'lpa:1$smdp.example.com$ABC', '  LPA:1$smdp.example.com$ABC\r\n'])(
    'accepts a form used by suppliers: %j',
    (text) => {
      const parsed = parseActivationCode(text)
      expect(parsed.ok && buildActivationCode(parsed.value)).toBe('LPA:1$smdp.example.com$ABC')
    },
  )

  test.each([
    '',
    'LPA:',
    'LPA:2$smdp.example.com$ABC',
    'LPA:1$smdp.example.com',
    'LPA:1$$ABC',
    'LPA:1$smdp..example.com$ABC',
    'LPA:1$-smdp.example.com$ABC',
    'LPA:1$https://smdp.example.com$ABC',
    'LPA:1$smdp.example.com$AB C',
    'LPA:1$smdp.example.com$ABC$oid$1',
    'LPA:1$smdp.example.com$ABC$$2',
    'LPA:1$smdp.example.com$ABC$$1$x',
    `LPA:1$smdp.example.com$${'A'.repeat(255)}`,
  ])('rejects a malformed code with a reason: %j', (text) => {
    expect(parseActivationCode(text)).toEqual({ ok: false, reason: sentence })
  })

  test('a built activation code parses back to itself', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
    const code = fc.record(
      {
        smdpAddress: fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.')),
        matchingId: fc.stringMatching(/^[A-Z0-9-]{0,40}$/),
        confirmationCodeRequired: fc.boolean(),
        smdpOid: fc.stringMatching(/^[0-9]{1,4}(\.[0-9]{1,4}){0,5}$/),
      },
      { requiredKeys: ['smdpAddress', 'matchingId', 'confirmationCodeRequired'] },
    )
    fc.assert(
      fc.property(code, (value) => {
        expect(parseActivationCode(buildActivationCode(value))).toEqual({ ok: true, value })
      }),
    )
  })

  test('installation links contain the whole code, URL-encoded', () => {
    const encoded = 'carddata=LPA%3A1%24smdp.example.com%24ABC-1%24%241'
    const text = 'LPA:1$smdp.example.com$ABC-1$$1'
    expect(appleInstallUrl(text)).toBe(`https://esimsetup.apple.com/esim_qrcode_provisioning?${encoded}`)
    expect(androidInstallUrl(text)).toBe(`https://esimsetup.android.com/esim_qrcode_provisioning?${encoded}`)
  })
})

describe('ICCIDs', () => {
  test.each([
    ['7992739871', '3'],
    ['0', '0'],
    ['453201511283036', '6'],
  ])('the Luhn digit of %s is %s', (digits, digit) => {
    expect(luhnDigit(digits)).toBe(digit)
  })

  test.each([
    ['8985200012345678903F', '8985200012345678903'],
    [' 8985200012345678903f\n', '8985200012345678903'],
    ['898520001234567890FF', '898520001234567890'],
    ['89852000123456789033', '89852000123456789033'],
  ])('%j is stripped of its padding to %s', (padded, iccid) => {
    expect(stripIccidPadding(padded)).toBe(iccid)
    expect(isIccid(iccid)).toBe(true)
  })

  test('pads an ICCID to twenty places, and leaves a padded one unchanged', () => {
    expect(padIccid('8985200012345678903')).toBe('8985200012345678903F')
    expect(padIccid('8985200012345678903F')).toBe('8985200012345678903F')
    expect(padIccid('89852000123456789033')).toBe('89852000123456789033')
  })

  test('generated ICCIDs have 19 digits and fail the Luhn check if any digit is changed', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 99_999_999_999n), fc.nat(18), fc.integer({ min: 1, max: 9 }), (serial, at, shift) => {
        const iccid = makeIccid('8985200', serial)
        expect(isIccid(iccid)).toBe(true)
        expect(iccid.slice(0, 18)).toBe(`8985200${String(serial).padStart(11, '0')}`)
        expect(passesLuhn(iccid)).toBe(true)
        const changed = iccid.slice(0, at) + ((Number(iccid[at]) + shift) % 10) + iccid.slice(at + 1)
        expect(passesLuhn(changed)).toBe(false)
      }),
    )
  })

  test('a serial number with too many digits is rejected', () => {
    expect(() => makeIccid('8985200', 100_000_000_000n)).toThrow(RangeError)
    expect(() => makeIccid('8985200', -1)).toThrow(RangeError)
    expect(() => makeIccid('89x', 1)).toThrow(RangeError)
    expect(() => makeIccid('8'.repeat(18), 1)).toThrow(RangeError)
  })

  test.each(['', '898', '8985200012345678903F', '89852000123456789033x', '8'.repeat(21)])(
    '%j is not an ICCID',
    (text) => {
      expect(isIccid(text)).toBe(false)
    },
  )
})

describe('EIDs', () => {
  test('the example EID in SGP.29 is accepted', () => {
    expect(isEid('89049032123451234512345678901235')).toBe(true)
  })

  test('an EID built from 30 digits passes the check, and fails if any digit changes', () => {
    const digits = fc.stringMatching(/^[0-9]{30}$/)
    fc.assert(
      fc.property(digits, fc.nat(31), fc.integer({ min: 1, max: 9 }), (first, at, shift) => {
        const eid = makeEid(first)
        expect(eid).toHaveLength(32)
        expect(isEid(eid)).toBe(true)
        expect(isEid(eid.slice(0, at) + ((Number(eid[at]) + shift) % 10) + eid.slice(at + 1))).toBe(false)
      }),
    )
  })

  test.each([
    '',
    '8904903212345123451234567890123',
    '890490321234512345123456789012355',
    '8904903212345123451234567890123x',
  ])('%j is not an EID', (text) => {
    expect(isEid(text)).toBe(false)
  })
})
