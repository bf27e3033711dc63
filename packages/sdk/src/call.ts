import { type Answer, attempt, type Transport } from './attempt.ts'
import { DealerEsimError, type ErrorParts } from './error.ts'
import { checkRetries, checkTimeout } from './options.ts'
import { isRetryable, parseRetryAfter, retryDelayMs, sleep, WAIT_MAX_MS } from './retry.ts'

export interface Caller extends Transport {
  baseUrl: string
  timeoutMs: number
  retries: number
  random: () => number
}

export interface CallOptions {
  /** Limit for each attempt. */
  timeoutMs?: number | undefined
  /** Attempts after the first. */
  retries?: number | undefined
  /** Ends the call, including its waits. */
  signal?: AbortSignal | undefined
}

export interface CallResult {
  data: Record<string, unknown>
  requestId: string
  httpStatus: number
  headers: Headers
  attempts: number
}

/** Calls one operation, with retries where they are safe. Resolves with the `data` of a success; throws DealerEsimError. */
export async function call(
  caller: Caller,
  operation: string,
  request: object,
  options: CallOptions = {},
): Promise<CallResult> {
  const body = JSON.stringify(request)
  const url = `${caller.baseUrl}/open-api/v1/${operation}`
  const { signal } = options
  const timeoutMs = checkTimeout(options.timeoutMs ?? caller.timeoutMs)
  const maxAttempts = 1 + checkRetries(options.retries ?? caller.retries)
  // Once an attempt's outcome is unknown, only a success resolves it: a later refusal does not rule out the earlier attempt.
  let outcomeUnknown = false
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(caller, { operation, attempt: attempts, url, body, timeoutMs, signal }).then(
      ({ requestId, answer }) => toResult(answer, requestId, attempts),
      (error: unknown) => (error instanceof DealerEsimError ? error : notSent(error)),
    )
    if (!(outcome instanceof DealerEsimError)) return outcome
    outcomeUnknown ||= outcome.outcomeUnknown
    const waitMs = retryDelayMs(outcome, attempts, caller.random)
    if (attempts < maxAttempts && isRetryable(outcome) && waitMs <= WAIT_MAX_MS) {
      await sleep(waitMs, signal)
      continue
    }
    throw withAttempts(outcome, { attempts, outcomeUnknown, transactionId: transactionIdOf(request) })
  }
}

/** The clock, the signing or the signal failed; from `fetch` on, every error is a DealerEsimError. */
function notSent(cause: unknown): DealerEsimError {
  const message = `The request was not sent: ${cause instanceof Error ? cause.message : cause}.`
  return new DealerEsimError({ code: 'NOT_SENT', message, cause })
}

function toResult(answer: Answer, requestId: string, attempts: number): CallResult | DealerEsimError {
  const { envelope, status, headers } = answer
  const retryAfterS = parseRetryAfter(answer)
  if (envelope === undefined) {
    return new DealerEsimError({
      code: 'ANSWER_UNREADABLE',
      message: unreadableMessage(status, headers),
      requestId,
      httpStatus: status,
      retryAfterS,
      outcomeUnknown: status >= 500 || status === 0 || (status >= 200 && status < 300),
    })
  }
  const { code, message, data } = envelope
  if (code === '000000') return { data, requestId, httpStatus: status, headers, attempts }
  return new DealerEsimError({
    code,
    message,
    details: Array.isArray(data.details) ? data.details : [],
    data,
    requestId,
    httpStatus: status,
    retryAfterS,
    // 000002 means that nothing happened; 101006 means that this request arrived before and has been, or is being,
    // processed.
    outcomeUnknown: (status >= 500 && code !== '000002') || code === '101006',
  })
}

function unreadableMessage(status: number, headers: Headers): string {
  const location = headers.get('location')
  if (location !== null) return `HTTP ${status} redirects to ${location}. Use that address as the base URL.`
  const hint = 'Check that the base URL is that of a gateway, without /open-api/v1.'
  return `HTTP ${status} with a body that is not an answer of the Dealer eSIM Open API. ${hint}`
}

function withAttempts(error: DealerEsimError, more: Partial<ErrorParts>): DealerEsimError {
  const { code, message, details, data, requestId, httpStatus, retryAfterS, cause } = error
  return new DealerEsimError({
    code,
    message,
    details,
    data,
    requestId,
    httpStatus,
    retryAfterS,
    ...(cause === undefined ? {} : { cause }),
    ...more,
  })
}

function transactionIdOf(request: object): string | undefined {
  const { transactionId } = request as { transactionId?: unknown }
  return typeof transactionId === 'string' ? transactionId : undefined
}
