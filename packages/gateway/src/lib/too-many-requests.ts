import { ApiError } from './api-error.ts'

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
