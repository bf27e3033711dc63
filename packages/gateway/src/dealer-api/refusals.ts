import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { failureAnswer } from '../http/answer.ts'
import { ApiError } from '../lib/api-error.ts'
import type { Clock } from '../lib/clock.ts'
import { rateLimitedLog } from '../lib/telemetry/log.ts'

/** Answers 000002 to those for whom there is no place. */
export interface Refusals {
  /** The answer is ours from now on. @param requestId the caller's, where it is well formed */
  refuse(response: ServerResponse, requestId: string | undefined, closes: boolean): void
}

/**
 * The part of the thread's time that answering them may take. Reading them costs as much again: what is left belongs to
 * the requests under way.
 */
const SHARE = 0.2
/** What is saved up while nobody is refused: a burst is answered at once. */
const SAVED_MAX_MS = 20
const BETWEEN_TURNS_MS = 2

interface Refusal {
  response: ServerResponse
  requestId: string | undefined
  closes: boolean
}

/**
 * A flood of callers who never wait would take all of the thread's time with its refusals, and what is under way would
 * never be answered. So refusals have a share of that time, and wait for their turn beyond it, in order: a caller who is
 * not answered yet sends nothing more. None waits long: a connection has one at a time, and thousands go out a second.
 */
export function openRefusals(clock: Clock, tell: (refused: number) => void): Refusals {
  let waiting: Refusal[] = []
  let savedMs = SAVED_MAX_MS
  let countedAt = clock.monotonic()
  let isWaiting = false
  const count = rateLimitedLog(tell)

  function turn(): void {
    isWaiting = false
    let now = clock.monotonic()
    savedMs = Math.min(SAVED_MAX_MS, savedMs + (now - countedAt) * SHARE)
    countedAt = now
    let done = 0
    while (done < waiting.length && savedMs > 0) {
      send(waiting[done++] as Refusal)
      const after = clock.monotonic()
      savedMs -= after - now
      now = after
    }
    waiting = done === waiting.length ? [] : waiting.slice(done)
    if (waiting.length > 0) later()
  }

  function later(): void {
    isWaiting = true
    setTimeout(turn, BETWEEN_TURNS_MS)
  }

  return {
    refuse(response, requestId, closes) {
      count()
      waiting.push({ response, requestId, closes })
      if (!isWaiting) turn()
    },
  }
}

const MARK = '00000000-0000-4000-8000-000000000000'
const { http, headers, body } = failureAnswer(MARK, new ApiError('000002'))
const [before, after] = body.split(MARK) as [string, string]
const LENGTH = Buffer.byteLength(body)
const { 'rt-requestid': _, ...fixed } = headers

/** Every refusal is the same but for one id, of one length. */
function send({ response, requestId, closes }: Refusal): void {
  if (response.destroyed) return
  response.writeHead(http, {
    ...fixed,
    'content-length': LENGTH,
    ...(requestId === undefined ? {} : { 'rt-requestid': requestId }),
    ...(closes ? { connection: 'close' } : {}),
  })
  response.end(before + (requestId ?? randomUUID()) + after)
}
