import { CLOCK_ADVANCE_MAX_HOURS, MalformedMoney, parseMoney } from '@dealer-esim/contract'
import { InvalidArgumentError } from 'commander'
import { TIMER_MAX_MS } from '#options.ts'

/** Argument parsers. Commander prints their errors with the option's name. */

export function integer(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d{1,15}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Write a number from ${min} to ${max}.`)
    }
    return value
  }
}

/** A decimal amount: `4.50`. */
export function amount(text: string): number {
  try {
    const units = parseMoney(text)
    if (units >= 0n) return Number(units)
  } catch (error) {
    if (error instanceof MalformedMoney) throw new InvalidArgumentError(error.message)
    throw error
  }
  throw new InvalidArgumentError('An amount cannot be negative.')
}

/** `5s`, `250ms`, `1m` → milliseconds. A number alone is seconds. */
export function durationMs(text: string): number {
  const match = /^(\d{1,10}(?:\.\d{1,3})?)(ms|s|m)?$/.exec(text)
  if (!match) throw new InvalidArgumentError('Write a time such as 250ms, 5s or 1m.')
  const value = Number(match[1]) * { ms: 1, s: 1000, m: 60_000 }[(match[2] ?? 's') as 'ms' | 's' | 'm']
  if (value > TIMER_MAX_MS) throw new InvalidArgumentError(`The longest time is ${TIMER_MAX_MS}ms (24 days).`)
  return value
}

/** `24h`, `7d` → hours. A number alone is hours. */
export function hours(text: string): number {
  const match = /^(\d{1,5})(h|d)?$/.exec(text)
  const value = Number(match?.[1]) * (match?.[2] === 'd' ? 24 : 1)
  if (!match || value < 1 || value > CLOCK_ADVANCE_MAX_HOURS) {
    throw new InvalidArgumentError(`Write a time such as 24h or 7d, at most ${CLOCK_ADVANCE_MAX_HOURS}h.`)
  }
  return value
}

export function timeoutMs(text: string): number {
  const value = durationMs(text)
  if (value < 1) throw new InvalidArgumentError('A time-out must be at least 1ms.')
  return value
}

/** `500MB` → 500 000 000. The smaller of the two ways to count, so that a minimum of 1 GB finds packages of either. */
export function sizeInBytes(text: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,3})?) ?(MB|GB|TB)$/i.exec(text)
  if (!match) throw new InvalidArgumentError('Write a size such as 500MB or 1GB.')
  return Math.round(Number(match[1]) * { MB: 1e6, GB: 1e9, TB: 1e12 }[match[2]!.toUpperCase() as 'MB' | 'GB' | 'TB'])
}

/** `30%` → 0.3. */
export function percentage(text: string): number {
  const match = /^(\d{1,3})%?$/.exec(text)
  const value = Number(match?.[1])
  if (!match || value > 100) throw new InvalidArgumentError('Write a percentage such as 30%.')
  return value / 100
}

/** `JP_1_7` or `JP_1_7:2`: a package and its count. */
export function orderLine(text: string, before: OrderLine[] = []): OrderLine[] {
  const match = /^(.+?)(?::(\d{1,9}))?$/.exec(text)
  const packageCode = match?.[1]
  if (packageCode === undefined) throw new InvalidArgumentError('Write a package code, or a code and a count: CODE:2.')
  return [...before, { packageCode, count: Number(match?.[2] ?? 1) }]
}

interface OrderLine {
  packageCode: string
  count: number
}

/** The address of an HTTP server, including the scheme. */
export function webAddress(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new InvalidArgumentError(
    `Write the full address, such as http://${text.replace(/^\/+/, '') || '127.0.0.1:3000/'}`,
  )
}

/** A comma-separated list. */
export function list(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
