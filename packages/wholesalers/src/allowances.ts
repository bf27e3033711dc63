/** What a supplier says of calls or SMS in a package: a number, a text such as `100` or `Unlimited`, or nothing. */
export interface Allowances {
  minutes?: unknown
  sms?: unknown
}

/**
 * Calls and SMS that a package includes besides its data, e.g. `100 minutes of calls and 20 SMS`.
 * @returns undefined if none are known
 */
export function includedOf({ minutes, sms }: Allowances): string | undefined {
  const calls = countOf(minutes)
  const messages = countOf(sms)
  const parts = [
    ...(calls === undefined ? [] : [calls === UNLIMITED ? 'unlimited calls' : `${calls} minutes of calls`]),
    ...(messages === undefined ? [] : [`${messages} SMS`]),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

const UNLIMITED = 'unlimited'

/** Nothing and 0 include nothing. -1 is unlimited in several interfaces. */
function countOf(value: unknown): string | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : ''
  if (value === true || text === '-1' || /^unlimited$/i.test(text)) return UNLIMITED
  return /^[1-9]\d{0,6}(\.0+)?$/.test(text) ? text.replace(/\.0+$/, '') : undefined
}

/** The description of a package with these allowances. */
export function describeIncluded(included: string): string {
  return `Includes ${included}.`
}

/** @returns what a text of `describeIncluded` includes; undefined for any other text */
export function includedIn(description: unknown): string | undefined {
  const match = typeof description === 'string' ? /^Includes ([^.]{1,80})\.$/.exec(description) : null
  return match && INCLUDED.test(match[1]!) ? match[1] : undefined
}

const INCLUDED = /^(?:(?:\d+ minutes of|unlimited) calls(?: and (?:\d+|unlimited) SMS)?|(?:\d+|unlimited) SMS)$/
