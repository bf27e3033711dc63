import type { FailureCode, FaultDetail } from '@dealer-esim/contract'

export interface ErrorParts {
  /** Replaces the code's own message. */
  message?: string
  details?: FaultDetail[]
  /** The members of `data` that the table of codes lists. */
  data?: Record<string, unknown>
  /** Extra response headers, such as Retry-After. */
  headers?: Record<string, string>
}

/** An expected failure with a code from the contract's table. Failures of the console and the CLI are a Refusal. */
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

/**
 * 101007, with headers that report the limit and when to retry.
 * @param remaining requests left of `limit`; above 0 if another limit was hit
 */
export function tooManyRequests({
  limit,
  remaining = 0,
  waitS,
  message,
}: {
  limit: number
  remaining?: number
  waitS: number
  message?: string
}): ApiError {
  return new ApiError('101007', {
    ...(message !== undefined && { message }),
    headers: {
      'Retry-After': String(waitS),
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': String(waitS),
    },
  })
}
