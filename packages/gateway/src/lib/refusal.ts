import { NAME_LENGTH_MAX } from '@dealer-esim/contract'
import { isUuid } from './ids.ts'

export type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 422 | 429 | 503

/**
 * The one type of an expected failure that people meet on the console or the CLI. The dealers' code table is the
 * dealers' contract, so these carry names of their own; doors turn them into `{code, message}`.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly status: RefusalStatus
  /** UPPER_SNAKE, for programs. */
  readonly code: string
  readonly data: Record<string, unknown> | undefined
  /** @param message a sentence that says what happened and what to do. */
  constructor(status: RefusalStatus, code: string, message: string, data?: Record<string, unknown>) {
    super(message)
    this.status = status
    this.code = code
    this.data = data
  }
}

/** Absent, or none of the asker's business: both read the same. @param name as it was asked for, where that helps */
export function notFound(what: string, name?: string): Refusal {
  const sentence =
    name === undefined ? `There is no such ${what}.` : `There is no ${what} ${name.slice(0, NAME_LENGTH_MAX)}.`
  return new Refusal(404, 'NOT_FOUND', sentence)
}

/**
 * The id that somebody typed, as it is stored. PostgreSQL fails on a text that is no UUID; to the asker it names what is
 * not there. @throws Refusal
 */
export function requireUuid(text: string, what: string): string {
  if (!isUuid(text)) throw notFound(what)
  return text.toLowerCase()
}

const NO_PART_OF_A_LINE = /[\u0000-\u001f\u007f\p{Cs}]/u

/** @returns the text without space around it; undefined unless it is one line of so many characters */
export function parseLine(text: string, { min, max }: { min: number; max: number }): string | undefined {
  const line = text.trim()
  const { length } = [...line]
  return length >= min && length <= max && !NO_PART_OF_A_LINE.test(line) ? line : undefined
}
