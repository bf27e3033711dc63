import { failureCodes } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { expect, test } from 'vitest'
import { failureOf } from './rt-failure.ts'

test.each(failureCodes)('the message for %s mentions only features of this API', (code) => {
  const { message } = failureOf(new ApiError(code))
  expect(message).toMatch(/^[A-Z].*\.$/)
  expect(message).not.toMatch(/data\.|Retry-After|X-Signature|actionNo|open-api|callbackUrl/)
})

test('a faulty member is reported under the name that the caller used', () => {
  const details = [{ field: 'callbackUrl', reason: 'Send an absolute URL.' }]
  const { code, message } = failureOf(new ApiError('000108', { details }))
  expect(code).toBe('200008')
  expect(message).toBe('A parameter is malformed, out of range or unknown. webhook: Send an absolute URL.')
})
