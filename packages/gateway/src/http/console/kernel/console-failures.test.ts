import { ApiError } from '@dealer-esim/lib/api-error.ts'
import pg from 'pg'
import { expect, it } from 'vitest'
import { failureOf } from './console-failures.ts'

it('a full disk is reported as temporary with 503, not as an internal error', () => {
  const full = Object.assign(new pg.DatabaseError('could not extend file', 0, 'error'), { code: '53100' })
  expect(failureOf(full)).toMatchObject({ status: 503, code: 'UNAVAILABLE' })
})

it.each(['200002', '200006', '200007', '200014'] as const)('the message for %s is written for end users', (code) => {
  const { message } = failureOf(new ApiError(code))
  expect(message).not.toMatch(/data\.|transactionId/)
})
