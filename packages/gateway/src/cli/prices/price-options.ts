import { parseMoney } from '@dealer-esim/contract'
import { InvalidArgumentError } from 'commander'
import { parsePercent } from '#catalogue/prices/percent.ts'

/** Parses a price such as `4.50`. */
export function amount(value: string): bigint {
  const price = parsed(parseMoney, value)
  if (price < 0n) throw new InvalidArgumentError('A price cannot be negative. Enter an amount such as 4.50.')
  return price
}

/** Parses a percentage such as `-12.5`. */
export function percent(value: string): bigint {
  return parsed(parsePercent, value)
}

export function currency(value: string): string {
  return value.toUpperCase()
}

function parsed<Result>(parse: (value: string) => Result, value: string): Result {
  try {
    return parse(value)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}
