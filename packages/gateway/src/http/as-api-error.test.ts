import { expect, it } from 'vitest'
import { CommitUnknown } from '../lib/postgres/errors.ts'
import { asApiError } from './as-api-error.ts'

it('never tells of a COMMIT that nobody answered as of one where nothing happened', () => {
  expect(asApiError(new CommitUnknown(new Error('the connection was lost'))).code).toBe('000001')
  expect(asApiError(Object.assign(new Error('connection refused'), { errno: -111 })).code).toBe('000002')
})
