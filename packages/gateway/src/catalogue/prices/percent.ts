/** Percentages are stored in 1/10 000 of a percent. */
const UNITS = 10_000n
const DECIMALS = 4
const MIN = -100n
const MAX = 1_000n

/** The text is not a valid percentage; the message says why. */
export class MalformedPercent extends Error {
  override readonly name = 'MalformedPercent'
}

/** `'-12.5'` or `'-12.5%'` → `-125000n`: a change to the list price, so −10 means ten percent less. */
export function parsePercent(text: string): bigint {
  const shown = `"${text.slice(0, 40)}"`
  const parts = /^([+-]?)(\d{1,6})(?:\.(\d+))?%?$/.exec(text)
  if (!parts) throw new MalformedPercent(`${shown} is not a percentage: use the form -12.5.`)
  const [, sign, whole = '', fraction = ''] = parts
  const size = BigInt(whole + fraction.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  const units = sign === '-' ? -size : size
  if (units < MIN * UNITS) throw new MalformedPercent(`${shown} would make prices negative: use ${MIN} or more.`)
  if (units > MAX * UNITS) throw new MalformedPercent(`${shown} is too high: use ${MAX} or less.`)
  if (/[1-9]/.test(fraction.slice(DECIMALS))) throw new MalformedPercent(`${shown} has more than four decimal places.`)
  return units
}

/** `-125000n` → `'-12.5'`. */
export function formatPercent(units: bigint): string {
  const digits = String(units < 0n ? -units : units).padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/(?<!0)0+$/, '')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction && `.${fraction}`}`
}
