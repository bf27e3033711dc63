import type { FailureCode, FailureData, FaultDetail } from '@dealer-esim/contract'

/** Errors without an answer from the gateway. The gateway's codes are six digits; these are words. */
export type LocalCode =
  /** The connection could not be opened, or it was broken. */
  | 'NETWORK_FAULT'
  /** No complete answer within `timeoutMs`, or within the `waitMs` of waitForOrder. */
  | 'TIMED_OUT'
  /** The caller's `signal` ended the call. */
  | 'ABORTED'
  /** The response does not come from a gateway: a proxy's page, a redirect, or larger than the limit. */
  | 'ANSWER_UNREADABLE'
  /** The request could not be created, for the reason in `cause`; nothing was sent. */
  | 'NOT_SENT'
  /** A webhook call that is not a genuine event; the message says which check failed. */
  | 'EVENT_REFUSED'

/** A newer gateway may return codes that this version of the SDK does not know. */
export type ErrorCode = FailureCode | LocalCode | (string & {})

export interface ErrorParts {
  code: ErrorCode
  message: string
  details?: FaultDetail[] | undefined
  data?: Record<string, unknown> | undefined
  requestId?: string | undefined
  httpStatus?: number | undefined
  transactionId?: string | undefined
  retryAfterS?: number | undefined
  outcomeUnknown?: boolean | undefined
  attempts?: number | undefined
  cause?: unknown
}

/** The only error class of this SDK. Programs use `code`; `message` is for people and says what to do next. */
export class DealerEsimError extends Error {
  override readonly name = 'DealerEsimError'
  readonly code: ErrorCode
  /** The faults: a path such as `packageInfoList[0].count` or a header, and the remedy. */
  readonly details: FaultDetail[]
  /** The answer's `data`, with the members that its code adds, such as `shortfall`. */
  readonly data: Record<string, unknown>
  /** The RT-RequestID of the last attempt. Give it to the operator when you ask about a failure. */
  readonly requestId: string | undefined
  /** Undefined if there was no answer. */
  readonly httpStatus: number | undefined
  /** For orders: repeat the order with this transactionId. Also set if the SDK generated it. */
  readonly transactionId: string | undefined
  /** The wait that the gateway asked for. */
  readonly retryAfterS: number | undefined
  /** True if an attempt may have been executed nevertheless. Repeat an order with the same transactionId to find out. */
  readonly outcomeUnknown: boolean
  /** The number of attempts. */
  readonly attempts: number

  constructor(parts: ErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause })
    this.code = parts.code
    this.details = parts.details ?? []
    this.data = parts.data ?? {}
    this.requestId = parts.requestId
    this.httpStatus = parts.httpStatus
    this.transactionId = parts.transactionId
    this.retryAfterS = parts.retryAfterS
    this.outcomeUnknown = parts.outcomeUnknown ?? false
    this.attempts = parts.attempts ?? 1
  }

  /** True if this is the error's code; `data` then has the code's members. */
  is<C extends FailureCode>(code: C): this is DealerEsimError & { code: C; data: FailureData<C> } {
    return this.code === code
  }
}
