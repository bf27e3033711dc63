import { describe, expect, it } from 'vitest'
import { ApiError } from '../lib/api-error.ts'
import { CommitUnknown } from '../lib/db.ts'
import { asApiError, failureAnswer } from './answer.ts'

describe('a failure', () => {
  it('carries a header once: what a room says replaces what the code says', () => {
    const overload = new ApiError('000002', { headers: { 'Retry-After': '7' } })
    const { headers } = failureAnswer('7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11', overload)
    const sent = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'retry-after')
    expect(sent).toEqual([['Retry-After', '7']])
  })

  it('of a COMMIT that nobody answered is never told as one where nothing happened', () => {
    expect(asApiError(new CommitUnknown(new Error('the connection was lost'))).code).toBe('000001')
    expect(asApiError(Object.assign(new Error('connection refused'), { errno: -111 })).code).toBe('000002')
  })
})
