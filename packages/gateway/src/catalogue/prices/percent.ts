import { Big } from 'big.js'

/** Percentages are stored in 1/10 000 of a percent. */
const UNITS = 10_000
const MIN = -100
const MAX = 1_000

/** The text is not a valid percentage; the message says why. */
export class MalformedPercent extends Error {
  override readonly name = 'MalformedPercent'
}

/** `'-12.5'` or `'-12.5%'` → `-125000n`: a change of the list price, so −10 means ten percent less. */
export function parsePercent(text: string): bigint {
  const shown = `"${text.slice(0, 40)}"`
  if (!/^[+-]?\d{1,6}(\.\d+)?%?$/.test(text))
    throw new MalformedPercent(`${shown} is not a percentage: write it like -12.5.`)
  const percent = new Big(text.replace(/[+%]/g, ''))
  if (percent.lt(MIN)) throw new MalformedPercent(`${shown} would make prices negative: use ${MIN} or more.`)
  if (percent.gt(MAX)) throw new MalformedPercent(`${shown} is too high: use ${MAX} or less.`)
  const units = percent.times(UNITS)
  if (!units.eq(units.round(0))) throw new MalformedPercent(`${shown} has more than four decimal places.`)
  return BigInt(units.toFixed(0))
}

/** `-125000n` → `'-12.5'`. */
export function formatPercent(units: bigint): string {
  return new Big(units.toString()).div(UNITS).toFixed()
}
