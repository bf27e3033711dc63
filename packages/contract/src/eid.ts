/** 32 digits that are 1 modulo 97 (SGP.02 §2.2.2, as ISO 7064). */
export function isEid(text: string): boolean {
  return /^\d{32}$/.test(text) && BigInt(text) % 97n === 1n
}

/** An EID from its first 30 digits; the last two check them. @throws RangeError unless there are 30 digits. */
export function makeEid(first30Digits: string): string {
  if (!/^\d{30}$/.test(first30Digits)) throw new RangeError('an EID is made from 30 digits')
  const check = 98n - ((BigInt(first30Digits) * 100n) % 97n)
  return first30Digits + String(check).padStart(2, '0')
}
