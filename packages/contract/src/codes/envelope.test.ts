import { expect, test } from 'vitest'
import { failure, success } from './envelope.ts'

test('a success envelope contains the data', () => {
  expect(success({ a: 1 })).toEqual({ code: '000000', message: 'success', data: { a: 1 } })
})

test('a failure envelope contains the request id, the details and the members of its code', () => {
  const data = { currentBalance: 1, requiredAmount: 3, shortfall: 2, currencyCode: 'USD' }
  expect(failure('200007', 'id', { data })).toEqual({
    code: '200007',
    message: expect.stringContaining('Top up'),
    data: { requestId: 'id', details: [], ...data },
  })
})

test('a custom message replaces the default one', () => {
  const details = [{ field: 'cursor', reason: 'Send it as it came.' }]
  expect(failure('000108', 'id', { message: 'No.', details })).toEqual({
    code: '000108',
    message: 'No.',
    data: { requestId: 'id', details },
  })
})
