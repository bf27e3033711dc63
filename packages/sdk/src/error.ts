import type { FailureCode, FailureData, FaultDetail } from '@dealer-esim/contract'

/** What went wrong without an answer of the gateway. Codes of the gateway are six digits; these are words. */
export type LocalCode =
  /** The connection could not be made, or it broke. */
  | 'NETWORK_FAULT'
  /** No complete answer within `timeoutMs`, or within the `waitMs` of waitForOrder. */
  | 'TIMED_OUT'
  /** The caller's `signal` ended the call. */
  | 'ABORTED'
  /** What came back is no answer of a gateway: a proxy's page, a redirect, or more than the limit. */
  | 'ANSWER_UNREADABLE'
  /** The request could not be made, for the reason in `cause`: nothing of this attempt left. */
  | 'NOT_SENT'
  /** A webhook call that is not a genuine event; the message says which check failed. */
  | 'EVENT_REFUSED'

/** A newer gateway may answer codes that this version of the SDK does not know. */
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

/** The one error of this SDK. Programs decide by `code`; `message` says to people what to do next. */
export class DealerEsimError extends Error {
  override readonly name = 'DealerEsimError'
  readonly code: ErrorCode
  /** Where the fault is: a path such as `packageInfoList[0].count`, or a header. */
  readonly details: FaultDetail[]
  /** The answer's `data`, with the members that its code adds, such as `shortfall`. */
  readonly data: Record<string, unknown>
  /** The RT-RequestID of the last attempt. Tell it to the operator when you ask about a failure. */
  readonly requestId: string | undefined
  /** Undefined when there was no answer. */
  readonly httpStatus: number | undefined
  /** Of an order: the key to repeat it with, also when the SDK generated it. */
  readonly transactionId: string | undefined
  /** How long the gateway asked to wait. */
  readonly retryAfterS: number | undefined
  /** An attempt may have been carried out all the same. Repeat an order with the same transactionId to find out. */
  readonly outcomeUnknown: boolean
  /** How often the call was tried. */
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

  /** Whether the code is this one; `data` then has the members of the code. */
  is<C extends FailureCode>(code: C): this is DealerEsimError & { code: C; data: FailureData<C> } {
    return this.code === code
  }
}
