import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { codes, failure } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { CommitUnknown, isConnectionLoss, isOutOfResources } from '@dealer-esim/lib/postgres/errors.ts'
import { type Log, rateLimitedLog } from '@dealer-esim/lib/telemetry/log.ts'

/** An answer in the contract's envelope: from the dealer API, and for paths outside every API. */
export interface Answer {
  code: string
  http: number
  headers: Record<string, string>
  /** Text, or parts of it, which `sendAnswer` releases. */
  body: string | string[]
}

/** The code under which a forwarded request is counted here. The other cell counts it under its answer's code. */
export const FORWARDED = 'forwarded'

const JSON_TYPE = 'application/json; charset=utf-8'
const BEFORE_DATA = '{"code":"000000","message":"success","data":'

/** @param data JSON text, or parts of it: the array becomes the answer’s body */
export function successAnswer(requestId: string, data: string | string[], headers?: Record<string, string>): Answer {
  if (typeof data !== 'string') {
    data.unshift(BEFORE_DATA)
    data.push('}')
  }
  return {
    code: '000000',
    http: 200,
    headers: { 'content-type': JSON_TYPE, 'rt-requestid': requestId, ...headers },
    body: typeof data === 'string' ? `${BEFORE_DATA}${data}}` : data,
  }
}

/**
 * Builds the answer to a failure.
 * @param requestId the caller's, if it is well formed
 * @param error the answer reveals only the error's own parts, never a stack trace, SQL or a secret
 */
export function failureAnswer(requestId: string | undefined, error: ApiError): Answer & { body: string } {
  const { message, details, data, headers } = error.parts
  const { code } = error
  const envelope = failure(code, requestId ?? randomUUID(), { message, details, data: data as never })
  return {
    code,
    http: codes[code].http,
    headers: {
      'content-type': JSON_TYPE,
      ...(requestId === undefined ? {} : { 'rt-requestid': requestId }),
      ...(code === '000002' ? { 'Retry-After': '1' } : {}), // spelt as in errors, so that an error's own header replaces it
      ...headers,
    },
    body: JSON.stringify(envelope),
  }
}

/**
 * Encoding a text of this length first and writing its bytes takes three fifths of the time that writing the text directly
 * would take.
 */
const LONG = 64 * 1024

/** Writes head and body together. With `isLast` the connection ends after the answer. @returns the size of the body in bytes */
export function sendAnswer(
  response: ServerResponse,
  { http, headers, body }: Answer,
  { isLast }: { isLast: boolean },
): number {
  const parts = typeof body !== 'string' ? body : [body.length > LONG ? Buffer.from(body) : body]
  let sizeBytes = 0
  for (const part of parts) sizeBytes += Buffer.byteLength(part)
  headers['content-length'] = String(sizeBytes)
  if (isLast) headers.connection = 'close'
  response.writeHead(http, headers)
  for (const part of parts.slice(0, -1)) response.write(part)
  response.end(parts.at(-1))
  // V8 promotes a request that waits for its turn to the old generation, and then whatever the request refers to, even after it has
  // ended. Without this line, pages of packages added 5 MB a second there, and each major collection paused the process for 15 ms.
  parts.length = 0
  return sizeBytes
}

/**
 * Calls `onLost` if the connection breaks before the operating system has taken the whole answer. Must be called before the
 * answer is written. Does not notice data that is lost on the way to the caller.
 */
export function whenAnswerIsLost(response: ServerResponse, onLost: () => void): void {
  const { socket } = response.req
  // An answer that waits for those of earlier requests has no connection yet, so its own events do not report its end.
  const onClose = () => settle(true)
  // Also emitted when writing has failed. Listens first, because the server's listener may end the connection.
  const onFinish = () => settle(socket.errored !== null || socket.destroyed || socket.writableEnded)
  const settle = (isLost: boolean) => {
    socket.off('close', onClose)
    response.off('finish', onFinish)
    if (isLost) onLost()
  }
  socket.once('close', onClose)
  response.prependOnceListener('finish', onFinish)
  if (socket.destroyed) settle(true)
}

/** Runs `work` with a signal that aborts if the caller goes away before it ends. */
export async function untilCallerLeaves<Result>(
  response: ServerResponse,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const gone = new AbortController()
  const onClose = () => gone.abort()
  response.once('close', onClose)
  if (response.req.socket.destroyed) gone.abort()
  return work(gone.signal).finally(() => response.off('close', onClose))
}

/** Converts any failure into the error to answer. 000002 promises that nothing happened. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof CommitUnknown) return new ApiError('000001')
  if (isConnectionLoss(error) || isOutOfResources(error)) return new ApiError('000002')
  return new ApiError('000001')
}

/**
 * Logs requests that are refused for a temporary reason, such as an unreachable database: one line per second with their
 * number and the first reason.
 */
export function unavailableLog(log: Pick<Log, 'warn'>): (error: unknown) => void {
  let first: unknown
  const count = rateLimitedLog((refused) => {
    log.warn({ refused, err: first }, 'unavailable: requests were refused')
    first = undefined
  })
  return (error) => {
    if (error instanceof ApiError) return // counted by load shedding
    first ??= error
    count()
  }
}
