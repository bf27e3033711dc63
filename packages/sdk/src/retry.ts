import type { Answer } from './attempt.ts'
import type { DealerEsimError } from './error.ts'

/**
 * True for failures after which another attempt may succeed. Every operation can be repeated safely: most only read or set
 * a state, and orders and actions are idempotent by their transactionId. Each attempt uses a new RequestID, because a
 * RequestID is accepted once; the body, including the transactionId, stays the same.
 *
 *     no answer, or a 2xx that cannot be read      retry
 *     5xx, including a proxy's                     retry
 *     429                                          retry after Retry-After
 *     101006, RequestID used                       retry: a proxy or library repeated the request
 *     other failures, and an abort by the caller   no retry: the same request would fail again
 */
export function isRetryable(error: DealerEsimError): boolean {
  if (error.code === 'ABORTED') return false
  if (error.code === 'ANSWER_UNREADABLE' && error.outcomeUnknown) return true
  if (error.httpStatus === undefined) return error.code === 'NETWORK_FAULT' || error.code === 'TIMED_OUT'
  return error.httpStatus >= 500 || error.httpStatus === 429 || error.code === '101006'
}

const FIRST_WAIT_MS = 500
export const WAIT_MAX_MS = 60_000

/** The wait before the next attempt: doubled each time, half of it random, and never shorter than Retry-After. */
export function retryDelayMs(error: DealerEsimError, attempts: number, random: () => number): number {
  const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), WAIT_MAX_MS)
  return Math.max(backoffMs * (0.5 + random() / 2), (error.retryAfterS ?? 0) * 1000)
}

/** About thirty years. The limit keeps arithmetic on the result safe. */
const RETRY_AFTER_MAX_S = 999_999_999

/** The header Retry-After in seconds; its value is a number or a date. */
export function parseRetryAfter(answer: Answer): number | undefined {
  const text = answer.headers.get('retry-after')?.trim()
  if (text === undefined || text === '') return undefined
  if (/^\d+$/.test(text)) return Math.min(Number(text), RETRY_AFTER_MAX_S)
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, Math.ceil((dateMs - answer.receivedMs) / 1000))
}

/** Resolves after the time, or as soon as the signal is aborted. */
export function sleep(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, durationMs)
    signal?.addEventListener('abort', end)
  })
}
