import { NAME_LENGTH_MAX } from '@dealer-esim/contract'
import { isUuid } from './ids.ts'

export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 422 | 429 | 503

/**
 * An expected failure of the console or the CLI. Its code is not one of the contract's table, which belongs to the dealer
 * API. The console API answers `{code, message}`.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: RefusalStatus
  /** UPPER_SNAKE, for programs. */
  readonly code: string
  readonly data: Record<string, unknown> | undefined
  /** @param message says what happened and what to do */
  constructor(status: RefusalStatus, code: string, message: string, data?: Record<string, unknown>) {
    super(message)
    this.status = status
    this.code = code
    this.data = data
  }
}

/** The thing does not exist, or the caller may not see it: the message is the same. @param name as the caller wrote it */
export function notFound(what: string, name?: string): Refusal {
  const sentence =
    name === undefined ? `There is no such ${what}.` : `There is no ${what} ${name.slice(0, NAME_LENGTH_MAX)}.`
  return new Refusal(404, 'NOT_FOUND', sentence)
}

/**
 * Checks a typed id and returns it in its stored form. A text that is not a UUID identifies nothing, and PostgreSQL would
 * fail on it.
 * @throws Refusal
 */
export function requireUuid(text: string, what: string): string {
  if (!isUuid(text)) throw notFound(what)
  return text.toLowerCase()
}

const NOT_ALLOWED_IN_LINE = /[\u0000-\u001f\u007f\p{Cs}]/u

/** @returns the trimmed text; undefined unless it is one line of `min` to `max` characters */
export function parseLine(text: string, { min, max }: { min: number; max: number }): string | undefined {
  const line = text.trim()
  const { length } = [...line]
  return length >= min && length <= max && !NOT_ALLOWED_IN_LINE.test(line) ? line : undefined
}

/** Formats a list like `a, b and 3 more`, with at most `max` of the names. */
export function shortList(names: readonly string[], max: number, separator = ', '): string {
  const more = names.length - max
  return names.slice(0, max).join(separator) + (more > 0 ? ` and ${more} more` : '')
}
