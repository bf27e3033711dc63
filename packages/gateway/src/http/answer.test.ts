import { expect, it } from 'vitest'
import { ApiError } from '../lib/api-error.ts'
import { failureAnswer } from './answer.ts'

it('carries a header once: what a room says replaces what the code says', () => {
  const overload = new ApiError('000002', { headers: { 'Retry-After': '7' } })
  const { headers } = failureAnswer('7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11', overload)
  const sent = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'retry-after')
  expect(sent).toEqual([['Retry-After', '7']])
})
