import { ApiError } from '../lib/api-error.ts'
import { CommitUnknown, isConnectionLoss, sqlState } from '../lib/postgres/errors.ts'

/** What a caller is told of a failure that nobody expected. 000002 promises that nothing happened. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof CommitUnknown) return new ApiError('000001')
  const state = sqlState(error)
  // 53: out of resources; 57014 and 55P03: out of time. What had begun was undone, and reads change nothing.
  if (isConnectionLoss(error) || state?.startsWith('53') || state === '57014' || state === '55P03') {
    return new ApiError('000002')
  }
  return new ApiError('000001')
}

/** For want of a place or a turn. Said on purpose, and by the thousand: no failure for the log. */
export function isTurnedAway(error: unknown): boolean {
  return error instanceof ApiError && error.code === '000002'
}
