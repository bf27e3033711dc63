import { FINAL_ORDER_STATUSES, type QueryAnswer, type QueryRequest } from '@dealer-esim/contract'
import type { CallOptions } from './call.ts'
import { DealerEsimError } from './error.ts'
import { TIMER_MAX_MS } from './options.ts'
import { sleep } from './retry.ts'

export type WaitOptions = CallOptions & {
  /** The total time to wait, including queries and their retries; 60 000 by default, 0 for a single query. */
  waitMs?: number | undefined
}

const WAIT_DEFAULT_MS = 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/**
 * Queries the order until its status is final or the time is over; then returns the last answer, or throws TIMED_OUT without
 * one. The end of the time also aborts a running query and its retries; a time of 0 queries once.
 */
export async function waitForOrder(
  query: (request: QueryRequest, options: CallOptions) => Promise<QueryAnswer>,
  which: QueryRequest,
  { waitMs = WAIT_DEFAULT_MS, ...options }: WaitOptions,
): Promise<QueryAnswer> {
  if (!(waitMs >= 0)) throw new TypeError(`waitMs must be a number of milliseconds from 0, not ${waitMs}`)
  if (waitMs === 0) return query(which, options)
  const { signal } = options
  // Some runtimes do not have AbortSignal.any.
  const ending = new AbortController()
  const end = () => ending.abort(signal?.reason)
  if (signal?.aborted) end()
  signal?.addEventListener('abort', end)
  const timer = waitMs <= TIMER_MAX_MS ? setTimeout(end, waitMs) : undefined
  let answer: QueryAnswer | undefined
  try {
    const endMs = performance.now() + waitMs
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
      answer = await query(which, { ...options, signal: ending.signal })
      const isFinal = (FINAL_ORDER_STATUSES as readonly string[]).includes(answer.orderStatus)
      if (isFinal || performance.now() + pauseMs > endMs) return answer
      await sleep(pauseMs, ending.signal)
    }
  } catch (error) {
    if (!(error instanceof DealerEsimError) || error.code !== 'ABORTED' || signal?.aborted) throw error
    if (answer !== undefined) return answer
    const { requestId, attempts } = error
    const message = `No answer within the wait of ${waitMs} ms.`
    throw new DealerEsimError({ code: 'TIMED_OUT', message, requestId, attempts, cause: error })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}
