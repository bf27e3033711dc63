import type { Code } from '@dealer-esim/contract'

export interface ErrorDetail {
  /** Path of the member at fault, such as `packageInfoList[0].count`. */
  field: string
  /** A sentence that says what to do. */
  reason: string
}

export interface ErrorParts {
  /** Replaces the code's own message. */
  message?: string
  details?: ErrorDetail[]
  /** The members of `data` that the code table names. */
  data?: Record<string, unknown>
  /** Extra headers of the answer, such as Retry-After. */
  headers?: Record<string, string>
}

/** The one type of an expected failure. Its code is one of the contract's table; doors turn it into an answer. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: Code
  readonly parts: ErrorParts
  constructor(code: Code, parts: ErrorParts = {}) {
    super(parts.message ?? code)
    this.code = code
    this.parts = parts
  }
}
