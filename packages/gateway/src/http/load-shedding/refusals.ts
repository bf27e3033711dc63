import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import { failureAnswer } from '../answer.ts'

/** A request that is to be answered with 000002. */
export interface RefusedRequest {
  response: ServerResponse
  /** The caller's, if it is well formed. */
  requestId: string | undefined
  /** True if the connection ends with the answer. */
  closes: boolean
}

/** The share of the thread's time for writing refusals. Reading the refused requests costs as much again. */
const REFUSALS_SHARE = 0.2
/** The time that is saved up while nobody is refused, so that a burst is answered immediately. */
const SAVED_MAX_MS = 20
const BETWEEN_TURNS_MS = 2

/**
 * Answers 000002. Refusing a flood of callers that never wait would take all of the thread's time, so refusals have a share
 * of that time and wait for it in order. Until a caller is answered, it sends nothing more. No caller waits long: a
 * connection has one refusal at a time, and thousands are written per second.
 */
export function createRefusals(clock: Clock, countRefused: () => void): (request: RefusedRequest) => void {
  let waiting: RefusedRequest[] = []
  let savedMs = SAVED_MAX_MS
  let countedAt = clock.monotonic()
  let isScheduled = false

  function writeSome(): void {
    isScheduled = false
    let now = clock.monotonic()
    savedMs = Math.min(SAVED_MAX_MS, savedMs + (now - countedAt) * REFUSALS_SHARE)
    countedAt = now
    let written = 0
    while (written < waiting.length && savedMs > 0) {
      writeRefusal(waiting[written++] as RefusedRequest)
      const after = clock.monotonic()
      savedMs -= after - now
      now = after
    }
    waiting = written === waiting.length ? [] : waiting.slice(written)
    if (waiting.length === 0) return
    isScheduled = true
    setTimeout(writeSome, BETWEEN_TURNS_MS)
  }

  return (request) => {
    countRefused()
    waiting.push(request)
    if (!isScheduled) writeSome()
  }
}

const PLACEHOLDER = '00000000-0000-4000-8000-000000000000'
const { http, headers, body } = failureAnswer(PLACEHOLDER, new ApiError('000002'))
const [BEFORE_ID, AFTER_ID] = body.split(PLACEHOLDER) as [string, string]
const BODY_BYTES = Buffer.byteLength(body)
const { 'rt-requestid': _, ...FIXED_HEADERS } = headers

/** Writes a refusal. All refusals are equal except for one id of fixed length, so the answer is built beforehand. */
function writeRefusal({ response, requestId, closes }: RefusedRequest): void {
  if (response.destroyed) return
  response.writeHead(http, {
    ...FIXED_HEADERS,
    'content-length': BODY_BYTES,
    ...(requestId === undefined ? {} : { 'rt-requestid': requestId }),
    ...(closes ? { connection: 'close' } : {}),
  })
  response.end(BEFORE_ID + (requestId ?? randomUUID()) + AFTER_ID)
}
