import { formatMoney, hasNoMinorUnit, MONEY_MAX, parseMoney, WHOLE_UNIT } from '@dealer-esim/contract'

/*
 * Pure: computes all prices of price plans and of sale rules. Integers only: money in 1/10 000 of its currency, percentages in
 * 1/10 000 of a percent, exchange rates in 1/1 000 000.
 */

const WHOLE = 1_000_000n // 100 %, in 1/10 000 of a percent

/**
 * Changes a price by a percentage (−100 000n means ten percent less): rounded half up to multiples of `unit`, never below zero.
 * @returns undefined above MONEY_MAX
 */
export function changeByPercent(price: bigint, percent: bigint, unit = 1n): bigint | undefined {
  const factor = WHOLE + percent
  if (factor <= 0n) return 0n
  const divisor = WHOLE * unit
  return withinMoney(((2n * price * factor + divisor) / (2n * divisor)) * unit)
}

/**
 * The prices that a rounding allows: those that leave a remainder of `ending` when divided by `unit`. For 1.99, 2.99 …:
 * unit 10 000, ending 9 900.
 */
export interface Rounding {
  readonly unit: bigint
  /** Less than the unit. */
  readonly ending: bigint
}

/** Allows every price. */
export const NO_ROUNDING: Rounding = { unit: 1n, ending: 0n }

/**
 * Restricts a rounding to prices that can be paid in the currency. If the currency has no minor unit, prices are whole, and
 * endings such as .99 do not apply.
 */
export function roundingIn(rounding: Rounding, currencyCode: string): Rounding {
  const { unit, ending } = rounding
  if (!hasNoMinorUnit(currencyCode) || (unit % WHOLE_UNIT === 0n && ending % WHOLE_UNIT === 0n)) return rounding
  let whole = WHOLE_UNIT
  while (unit > WHOLE_UNIT && whole % unit !== 0n) whole += WHOLE_UNIT // a step of 2.50 allows multiples of 5
  return { unit: whole, ending: 0n }
}

/** The lowest allowed price at or above this one. */
export function roundUp(price: bigint, { unit, ending }: Rounding): bigint {
  const above = (price - ending) % unit
  return above === 0n ? price : price - above + (above > 0n ? unit : 0n)
}

/** The nearest allowed price, half up, never below zero. @returns undefined above MONEY_MAX */
export function roundToNearest(price: bigint, rounding: Rounding): bigint | undefined {
  const upper = roundUp(price, rounding)
  const lower = upper - rounding.unit
  const nearest = upper !== price && lower >= 0n && price - lower < upper - price ? lower : upper
  return withinMoney(nearest)
}

/** How to compute a price from a cost. */
export interface CostPlus {
  /** Percentage added to the cost, in 1/10 000 of a percent. Not negative. */
  readonly percent: bigint
  /** Amount added after the percentage. */
  readonly fixed: bigint
  /** The price is at least this much above the cost. */
  readonly minMargin: bigint
  readonly rounding: Rounding
}

/**
 * Computes a price from a cost in the same currency. Rounds up at every step, so the margin is never below the minimum.
 * @returns undefined above MONEY_MAX
 */
export function priceFromCost(cost: bigint, { percent, fixed, minMargin, rounding }: CostPlus): bigint | undefined {
  const marked = divideUp(cost * (WHOLE + percent), WHOLE) + fixed
  const floor = cost + minMargin
  if (marked < floor) return withinMoney(roundUp(floor, rounding))
  return withinMoney(roundUp(marked, rounding))
}

const RATE_UNIT = 1_000_000n

/** Converts a cost by a rate in 1/1 000 000. Rounds up, so that costs are never understated. */
export function convertCost(cost: bigint, rate: bigint): bigint {
  return divideUp(cost * rate, RATE_UNIT)
}

function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

function withinMoney(price: bigint): bigint | undefined {
  return price > BigInt(MONEY_MAX) ? undefined : price
}

/*
 * The text form of a rounding, in APIs, files and tables:
 *
 *   none       every price
 *   .99        prices that end in .99; .00 whole ones
 *   .49/.99    prices that end in either: the endings are spaced evenly
 *   0.05       multiples of a step
 */

/** The text is not a rounding; the message says why. */
export class MalformedRounding extends Error {
  override readonly name = 'MalformedRounding'
}

const ONE = 10_000n
const ADVICE = 'write none, an ending such as .99 or .49/.99, or a step such as 0.05'

/** @throws MalformedRounding */
export function parseRounding(text: string): Rounding {
  if (text === 'none') return NO_ROUNDING
  const isEndings = /^\.\d{1,4}(\/\.\d{1,4}){0,19}$/.test(text)
  if (!isEndings && !/^\d{1,9}(\.\d{1,4})?$/.test(text)) throw malformed(text, ADVICE)
  if (isEndings) return endingsOf(text)
  const unit = parseMoney(text)
  if (unit === 0n) throw malformed(text, 'a step must be above zero')
  return { unit, ending: 0n }
}

function endingsOf(text: string): Rounding {
  const endings = text.split('/').map((part) => parseMoney(`0${part}`))
  const unit = ONE / BigInt(endings.length)
  const isEven = unit * BigInt(endings.length) === ONE
  const isSpaced = endings.every((ending, index) => ending === endings[0]! + unit * BigInt(index))
  if (!isEven || !isSpaced)
    throw malformed(text, 'several endings must be evenly spaced and ascending, such as .49/.99')
  return { unit, ending: endings[0]! % unit }
}

export function formatRounding({ unit, ending }: Rounding): string {
  if (unit === 1n) return 'none'
  if (ending === 0n && unit !== ONE) return formatMoney(unit)
  const endings = Array.from({ length: Number(ONE / unit) }, (_, index) => ending + unit * BigInt(index))
  return endings.map((units) => formatMoney(units).replace(/^0/, '')).join('/')
}

function malformed(text: string, advice: string): MalformedRounding {
  return new MalformedRounding(`"${text.slice(0, 40)}" is not a valid rounding: ${advice}.`)
}
