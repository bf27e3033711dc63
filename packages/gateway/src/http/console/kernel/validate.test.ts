import { parseRequest } from '@dealer-esim/contract'
import { expect, test } from 'vitest'
import './validate.ts'

test('importing the console’s validation does not make the dealer API accept impossible dates', () => {
  expect(parseRequest('package/list', { updatedSince: '2026-02-30T00:00:00Z' })).toMatchObject({
    ok: false,
    code: '000108',
  })
})
