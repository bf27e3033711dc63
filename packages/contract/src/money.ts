import { MONEY_MAX } from './limits.ts'

/** Money is in 1/10 000 of the currency: a `bigint` in code, a JSON integer on the wire, a decimal in texts. */
const UNITS = 10_000n
const PLACES = 4

/** The text is not an amount of money; the message says why. */
export class MalformedMoney extends Error {
  override readonly name = 'MalformedMoney'
}

/**
 * `'1250.00'` → `12500000n`. Accepts only an optional minus sign, digits, and up to four decimal places after a dot, so no
 * amount can be misread.
 * @throws MalformedMoney
 */
export function parseMoney(text: string): bigint {
  const match = /^(-?)(\d{1,15})(?:\.(\d+))?$/.exec(text)
  if (!match)
    throw new MalformedMoney(
      `"${text.slice(0, 40)}" is not an amount: use the form 1250.00, without thousands separators.`,
    )
  const [, sign, whole = '', places = ''] = match
  if (places.length > PLACES) throw new MalformedMoney(`"${text.slice(0, 40)}" has more than ${PLACES} decimal places.`)
  const units = BigInt(whole) * UNITS + BigInt(places.padEnd(PLACES, '0'))
  if (units > MONEY_MAX)
    throw new MalformedMoney(`"${text}" is too large: the maximum is ${formatMoney(BigInt(MONEY_MAX))}.`)
  return sign === '-' ? -units : units
}

/** `12500000n` → `'1250.00'`: at least two decimal places, and up to four where needed. */
export function formatMoney(units: bigint | number): string {
  const value = BigInt(units)
  const absolute = value < 0n ? -value : value
  const places = String(absolute % UNITS)
    .padStart(PLACES, '0')
    .replace(/0{1,2}$/, '')
  return `${value < 0n ? '-' : ''}${absolute / UNITS}.${places}`
}
