import { codes, MalformedMoney } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { explainNoConnection, isNoConnection } from '@dealer-esim/lib/postgres/errors.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { FileQuestion } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import { CommanderError } from 'commander'
import { jsonText } from './context.ts'
import { printable } from './printable.ts'
import { questionText } from './question-text.ts'

/** The output of a failed command on stderr: a message, or one JSON document. */
export function failureText(error: unknown, json: boolean): string {
  return json ? jsonText({ error: failureOf(error) }) : printable(errorText(error))
}

function failureOf(error: unknown) {
  if (error instanceof ApiError) {
    const { details = [], data } = error.parts
    return { code: error.code, message: apiMessage(error), details, ...(data ? { data } : {}) }
  }
  if (error instanceof Refusal) {
    const { code, message, data } = error
    return { code, message, ...(data ? { data } : {}) }
  }
  const question = questionOf(error)
  const code = isUsageError(error) ? 'USAGE' : 'FAILED'
  return { code, message: errorMessage(error), ...(question && { question }) }
}

/** The question about a file that cannot be read without a person's answer. */
function questionOf(error: unknown): FileQuestion | undefined {
  return error instanceof Error && 'question' in error ? (error.question as FileQuestion | undefined) : undefined
}

/** True if the command line has to be corrected. */
export function isUsageError(error: unknown): boolean {
  return error instanceof CommanderError || error instanceof UsageError || error instanceof MalformedMoney
}

function errorText(error: unknown): string {
  if (error instanceof ApiError) {
    const details = (error.parts.details ?? []).map((detail) => `  ${detail.field}: ${detail.reason}`)
    return [apiMessage(error), ...details].join('\n')
  }
  // Our own errors have messages for people. Anything else is a defect, whose stack is printed.
  const isDefect = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  if (isDefect) return error.stack ?? error.message
  const question = questionOf(error)
  return question === undefined ? errorMessage(error) : `${errorMessage(error)}\n${questionText(question)}`
}

function apiMessage(error: ApiError): string {
  return error.parts.message ?? codes[error.code].message
}

function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (isNoConnection(error)) return explainNoConnection(error)
  return error.message.replace(/^error: /, '')
}

/** The command line is invalid. The message says how to correct it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
