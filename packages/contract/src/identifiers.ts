/** The ICCID without the F padding of its binary coding: the form in the database and in answers. */
export function stripIccidPadding(iccid: string): string {
  return iccid.trim().replace(/[Ff]{1,2}$/, '')
}

/** Pads to twenty digits with F, as some ES2+ servers require (SGP.22 §5.3). */
export function padIccid(iccid: string): string {
  return stripIccidPadding(iccid).padEnd(20, 'F')
}

/** 18 to 20 digits. The Luhn digit is not checked, because some suppliers issue ICCIDs without one. */
export function isIccid(text: string): boolean {
  return /^\d{18,20}$/.test(text)
}

/** True if the last digit is the Luhn check digit of the others (ITU-T E.118). */
export function passesLuhn(digits: string): boolean {
  return /^\d{2,}$/.test(digits) && luhnDigit(digits.slice(0, -1)) === digits.at(-1)
}

/** The check digit that follows `digits`. */
export function luhnDigit(digits: string): string {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 0x30
    const weighted = i % 2 === 0 ? digit * 2 : digit
    sum += weighted > 9 ? weighted - 9 : weighted
  }
  return String((10 - (sum % 10)) % 10)
}

/**
 * An ICCID of 19 digits with a valid check digit, from an issuer's prefix (such as 8985200) and a serial number.
 * @throws RangeError when the serial number does not fit.
 */
export function makeIccid(issuerPrefix: string, serial: bigint | number): string {
  const width = 18 - issuerPrefix.length
  const digits = String(serial).padStart(width, '0')
  if (!/^\d{1,17}$/.test(issuerPrefix) || !/^\d+$/.test(digits) || digits.length > width) {
    throw new RangeError(`Serial number ${serial} does not fit an ICCID that starts with ${issuerPrefix}.`)
  }
  return issuerPrefix + digits + luhnDigit(issuerPrefix + digits)
}

/** 32 digits that equal 1 modulo 97 (SGP.02 §2.2.2, as ISO 7064). */
export function isEid(text: string): boolean {
  return /^\d{32}$/.test(text) && BigInt(text) % 97n === 1n
}

/** Appends the two check digits to the first 30 digits of an EID. @throws RangeError unless there are 30 digits. */
export function makeEid(first30Digits: string): string {
  if (!/^\d{30}$/.test(first30Digits)) throw new RangeError('An EID is made from exactly 30 digits.')
  const check = 98n - ((BigInt(first30Digits) * 100n) % 97n)
  return first30Digits + String(check).padStart(2, '0')
}

const TEST_APP_KEY = /^[ar]k_[a-z0-9]{1,12}_test_/

/** True for the AppKey of a test twin, or of one of its restricted keys, such as `ak_main_test_…`. */
export function isTestAppKey(appKey: string): boolean {
  return TEST_APP_KEY.test(appKey)
}
