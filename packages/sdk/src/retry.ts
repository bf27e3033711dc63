import type { Answer } from './attempt.ts'
import type { DealerEsimError } from './error.ts'

/**
 * Which failures are worth another attempt. Every operation can be repeated without harm: six only read or set a state,
 * and `esim/order` is idempotent by its transactionId. Each attempt takes a fresh RequestID, because a RequestID is
 * accepted once; the body, and with it the transactionId, stays.
 *
 *     no answer, or a 2xx that cannot be read        again
 *     5xx, also a proxy's                            again
 *     429                                            again, after Retry-After
 *     101006, RequestID used                         again: something between repeated our request
 *     every other refusal, and the caller's abort    not again: it would be refused again
 */
export function isRetryable(error: DealerEsimError): boolean {
  if (error.code === 'ABORTED') return false
  if (error.code === 'ANSWER_UNREADABLE' && error.outcomeUnknown) return true
  if (error.httpStatus === undefined) return error.code === 'NETWORK_FAULT' || error.code === 'TIMED_OUT'
  return error.httpStatus >= 500 || error.httpStatus === 429 || error.code === '101006'
}

const FIRST_WAIT_MS = 500
export const WAIT_MAX_MS = 60_000

/** The wait before the next attempt: doubling, half of it by chance, and never shorter than the gateway asked for. */
export function retryDelayMs(error: DealerEsimError, attemptsMade: number, random: () => number): number {
  const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** (attemptsMade - 1), WAIT_MAX_MS)
  return Math.max(backoffMs * (0.5 + random() / 2), (error.retryAfterS ?? 0) * 1000)
}

/** Thirty years: more is not told apart, so that a time that far off can still be reckoned with. */
const RETRY_AFTER_MAX_S = 999_999_999

/** The header Retry-After in seconds: a number, or a date. */
export function parseRetryAfter(answer: Answer): number | undefined {
  const text = answer.headers.get('retry-after')?.trim()
  if (text === undefined || text === '') return undefined
  if (/^\d+$/.test(text)) return Math.min(Number(text), RETRY_AFTER_MAX_S)
  const dateMs = Date.parse(text)
  return Number.isNaN(dateMs) ? undefined : Math.max(0, Math.ceil((dateMs - answer.receivedMs) / 1000))
}

/** Resolves after the time, or at once when the signal is or becomes aborted. */
export function sleep(timeMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, timeMs)
    signal?.addEventListener('abort', end)
  })
}
