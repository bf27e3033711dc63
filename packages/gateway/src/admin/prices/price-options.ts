import { parseMoney } from '@dealer-esim/contract'
import { InvalidArgumentError } from 'commander'
import { parsePercent } from '../../catalogue/pricing/percent.ts'

/** `4.50` of a command line. */
export function amount(value: string): bigint {
  const price = parsed(parseMoney, value)
  if (price < 0n) throw new InvalidArgumentError('A price is not below zero: write it like 4.50.')
  return price
}

/** `-12.5` of a command line. */
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
