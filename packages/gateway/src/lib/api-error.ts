import type { FailureCode, FaultDetail } from '@dealer-esim/contract'

export interface ErrorParts {
  /** Replaces the code's own message. */
  message?: string
  details?: FaultDetail[]
  /** The members of `data` that the code table names. */
  data?: Record<string, unknown>
  /** Extra headers of the answer, such as Retry-After. */
  headers?: Record<string, string>
}

/** An expected failure with a code of the contract's table. What only console and command line meet is a Refusal. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: FailureCode
  readonly parts: ErrorParts
  constructor(code: FailureCode, parts: ErrorParts = {}) {
    super(parts.message ?? code)
    this.code = code
    this.parts = parts
  }
}
