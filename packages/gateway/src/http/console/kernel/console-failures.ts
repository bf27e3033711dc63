import { codes, type FailureCode } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { CommitUnknown, isConnectionLoss, isOutOfResources, sqlState } from '@dealer-esim/lib/postgres/errors.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { InvalidRequest } from './validate.ts'

interface Failure {
  status: number
  /** UPPER_SNAKE, or a code of the dealer API if a module refused with one. */
  code: string
  message: string
  data?: Record<string, unknown>
}

/** Answers every failure as `{code, message, data?}`: a code for programs, a message for people, never a stack trace. */
export function sendFailure(
  { log, logUnavailable }: { log: Log; logUnavailable(error: unknown): void },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, ...body } = failureOf(error)
  const retryAfterS = body.data?.retryAfterS ?? (status === 503 ? RETRY_AFTER_S : undefined)
  if (retryAfterS !== undefined) reply.header('Retry-After', String(retryAfterS))
  if (status === 503) logUnavailable(error)
  else if (status >= 500) log.error({ err: error, path: request.routeOptions.url }, 'console request failed')
  return reply.code(status).send(body)
}

const RETRY_AFTER_S = 1

// lock_not_available, deadlock_detected, query_canceled (statement_timeout): rolled back, so a retry may succeed.
const TRANSIENT = new Set(['55P03', '40P01', '57014'])

export function failureOf(error: unknown): Failure {
  if (error instanceof Refusal)
    return { status: error.status, code: error.code, message: error.message, ...(error.data && { data: error.data }) }
  if (error instanceof ApiError) return failureOfApiError(error)
  if (error instanceof InvalidRequest) return failureOfRequest(error)
  const state = sqlState(error)
  if (state !== undefined && TRANSIENT.has(state))
    return { status: 503, code: 'BUSY', message: 'Another request is changing the same data. Try again.' }
  // A lost connection rolls back. Only the outcome of an unanswered COMMIT is unknown.
  if (isConnectionLoss(error) && !(error instanceof CommitUnknown))
    return { status: 503, code: 'UNAVAILABLE', message: 'The database cannot be reached. Try again in a moment.' }
  if (isOutOfResources(error))
    return { status: 503, code: 'UNAVAILABLE', message: 'The database is out of resources. Try again in a moment.' }
  const statusCode = (error as { statusCode?: number }).statusCode
  if (statusCode === 413)
    return { status: 413, code: 'TOO_LARGE', message: 'The request is too large. Send a smaller file or text.' }
  if (statusCode !== undefined && statusCode < 500)
    return { status: statusCode, code: 'REQUEST_INVALID', message: 'The request could not be read. Check its format.' }
  return {
    status: 500,
    code: 'INTERNAL_ERROR',
    message: 'The gateway failed. Try again. See the log for details.',
  }
}

/** Messages for people, in place of messages of the dealer API that tell a program what to read in `data`. */
const MESSAGES: Partial<Record<FailureCode, string>> = {
  '200002':
    'The state of the eSIM does not allow this and nothing was changed. If an action or a top-up is in progress, wait until it has ended.',
  '200005': 'The price has changed and nothing was bought. Choose the package again to see its current price.',
  '200006': 'The price has changed and nothing was bought. Choose the package again to see its current price.',
  '200007': 'The balance does not cover the price and nothing was bought. Top up the balance, then try again.',
  '200014':
    'The daily spend limit does not cover the price and nothing was bought. Wait until the next day (UTC), or ask the operator to raise the limit.',
}

function failureOfRequest({ message, members }: InvalidRequest): Failure {
  return { status: 400, code: 'REQUEST_INVALID', message, ...(members.length > 0 && { data: { members } }) }
}

function failureOfApiError(error: ApiError): Failure {
  const { message, details = [], data } = error.parts
  const reasons = details.map((detail) => detail.reason).join(' ')
  return {
    status: codes[error.code].http,
    code: error.code,
    message: message ?? (reasons || (MESSAGES[error.code] ?? codes[error.code].message)),
    data: { ...data, details },
  }
}
