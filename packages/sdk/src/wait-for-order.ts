import { FINAL_ORDER_STATUSES, type QueryAnswer, type QueryRequest } from '@dealer-esim/contract'
import type { CallOptions } from './call.ts'
import { pause } from './retry.ts'

export type WaitOptions = CallOptions & {
  /** How long to wait in all; 60 000 by default. */
  wait_ms?: number | undefined
}

const WAIT_DEFAULT_MS = 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000

/** Asks until the order's status is a final one, or the time is over. */
export async function waitForOrder(
  query: (request: QueryRequest, options: CallOptions) => Promise<QueryAnswer>,
  which: QueryRequest,
  { wait_ms = WAIT_DEFAULT_MS, ...options }: WaitOptions,
): Promise<QueryAnswer> {
  const end = performance.now() + wait_ms
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(pause_ms * 1.5, LONGEST_PAUSE_MS)) {
    const answer = await query(which, options)
    const isFinal = (FINAL_ORDER_STATUSES as readonly string[]).includes(answer.orderStatus)
    if (isFinal || performance.now() + pause_ms > end) return answer
    await pause(pause_ms, options.signal)
  }
}
