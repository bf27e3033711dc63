import { codes } from '@dealer-esim/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../lib/api-error.ts'
import { CommitUnknown, isConnectionLoss, isOutOfResources, sqlState } from '../../lib/postgres/errors.ts'
import { Refusal } from '../../lib/refusal.ts'
import type { Log } from '../../lib/telemetry/log.ts'
import { InvalidRequest } from './validate.ts'

interface Failure {
  status: number
  /** UPPER_SNAKE, or a code of the dealers' table where a room refused by it. */
  code: string
  message: string
  data?: Record<string, unknown>
}

/** Every failure leaves as `{code, message, data?}`: a sentence for people, a name for programs, no trace for anybody. */
export function answerFailure(
  { log, logUnavailable }: { log: Log; logUnavailable(error: unknown): void },
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { status, ...body } = failureOf(error)
  if (status === 503) logUnavailable(error)
  else if (status >= 500) log.error({ err: error, path: request.routeOptions.url }, 'console request failed')
  return reply.code(status).send(body)
}

// lock_not_available, deadlock_detected, query_canceled (statement_timeout): nothing happened, and again may do.
const TRANSIENT = new Set(['55P03', '40P01', '57014'])

export function failureOf(error: unknown): Failure {
  if (error instanceof Refusal)
    return { status: error.status, code: error.code, message: error.message, ...(error.data && { data: error.data }) }
  if (error instanceof ApiError) return refusedByRoom(error)
  if (error instanceof InvalidRequest) return { status: 400, code: 'REQUEST_INVALID', message: error.message }
  const state = sqlState(error)
  if (state !== undefined && TRANSIENT.has(state))
    return { status: 503, code: 'BUSY', message: 'Somebody else is changing the same thing. Try again.' }
  // What had begun was undone, and reads change nothing; only what became of a COMMIT without an answer is not known.
  if (isConnectionLoss(error) && !(error instanceof CommitUnknown))
    return { status: 503, code: 'UNAVAILABLE', message: 'The database cannot be reached. Try again in a moment.' }
  if (isOutOfResources(error))
    return { status: 503, code: 'UNAVAILABLE', message: 'The database is out of resources. Try again in a moment.' }
  const statusCode = (error as { statusCode?: number }).statusCode
  if (statusCode === 413)
    return { status: 413, code: 'TOO_LARGE', message: 'This is more than is taken at once. Send less.' }
  if (statusCode !== undefined && statusCode < 500)
    return { status: statusCode, code: 'REQUEST_INVALID', message: 'The request could not be read.' }
  return { status: 500, code: 'INTERNAL_ERROR', message: 'Something went wrong here. Try again; the log says more.' }
}

function refusedByRoom(error: ApiError): Failure {
  const { message, details, data } = error.parts
  const sentence = message ?? codes[error.code].message
  const reasons = (details ?? []).map((detail) => detail.reason).join(' ')
  const text = message === undefined && reasons !== '' ? reasons : sentence
  return { status: codes[error.code].http, code: error.code, message: text, data: { ...data, details: details ?? [] } }
}
