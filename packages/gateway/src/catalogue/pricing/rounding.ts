import { formatMoney, parseMoney } from '@dealer-esim/contract'
import { NO_ROUNDING, type Rounding } from './price-engine.ts'

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
  if (unit === 0n) throw malformed(text, 'a step is above zero')
  return { unit, ending: 0n }
}

function endingsOf(text: string): Rounding {
  const endings = text.split('/').map((part) => parseMoney(`0${part}`))
  const unit = ONE / BigInt(endings.length)
  const isEven = unit * BigInt(endings.length) === ONE
  const isSpaced = endings.every((ending, index) => ending === endings[0]! + unit * BigInt(index))
  if (!isEven || !isSpaced) throw malformed(text, 'several endings are spaced evenly and ascend, such as .49/.99')
  return { unit, ending: endings[0]! % unit }
}

export function formatRounding({ unit, ending }: Rounding): string {
  if (unit === 1n) return 'none'
  if (ending === 0n && unit !== ONE) return formatMoney(unit)
  const endings = Array.from({ length: Number(ONE / unit) }, (_, index) => ending + unit * BigInt(index))
  return endings.map((units) => formatMoney(units).replace(/^0/, '')).join('/')
}

function malformed(text: string, advice: string): MalformedRounding {
  return new MalformedRounding(`"${text.slice(0, 40)}" is not a rounding: ${advice}.`)
}
