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

/**
 * 101007, with the headers that tell a program of the limit and of when to come again.
 * @param remaining of the limit; that may be some where it is not the limit that was hit
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
