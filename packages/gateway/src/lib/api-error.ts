import type { Code, FaultDetail } from '@dealer-esim/contract'

export interface ErrorParts {
  /** Replaces the code's own message. */
  message?: string
  details?: FaultDetail[]
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
