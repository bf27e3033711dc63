/**
 * A supplier's statement about calls or SMS in a package: a number, a text such as `100` or `Unlimited`, true if it gives
 * no number, or nothing.
 */
export interface Allowances {
  minutes?: unknown
  sms?: unknown
}

/**
 * Calls and SMS that a package includes besides its data, e.g. `100 minutes of calls and 20 SMS`, or `calls and SMS` if their
 * number is not known: no traveller is promised a number that the supplier has not stated.
 * @returns undefined if none are known
 */
export function includedOf({ minutes, sms }: Allowances): string | undefined {
  const calls = countOf(minutes)
  const messages = countOf(sms)
  const parts = [
    ...(calls === undefined ? [] : [/^\d/.test(calls) ? `${calls} minutes of calls` : `${calls} calls`.trim()]),
    ...(messages === undefined ? [] : [`${messages} SMS`.trim()]),
  ]
  return parts.length === 0 ? undefined : parts.join(' and ')
}

export const UNLIMITED = 'unlimited'

/** A missing value, 0 and -1 mean that nothing is included: the meaning of -1 is undocumented. Empty: an unknown number. */
function countOf(value: unknown): string | undefined {
  if (value === true) return ''
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : ''
  if (/^unlimited$/i.test(text)) return UNLIMITED
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

const INCLUDED =
  /^(?:(?:(?:\d+ minutes of|unlimited) )?calls(?: and (?:(?:\d+|unlimited) )?SMS)?|(?:(?:\d+|unlimited) )?SMS)$/
