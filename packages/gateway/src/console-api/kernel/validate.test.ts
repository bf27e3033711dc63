import { parseRequest } from '@dealer-esim/contract'
import { expect, test } from 'vitest'
import './validate.ts'

test('how the console checks its requests leaves the dealers’ requests alone: a day that no calendar has is refused', () => {
  expect(parseRequest('package/list', { updatedSince: '2026-02-30T00:00:00Z' })).toMatchObject({
    ok: false,
    code: '000108',
  })
})
