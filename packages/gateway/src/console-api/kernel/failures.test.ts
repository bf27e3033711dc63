import pg from 'pg'
import { expect, it } from 'vitest'
import { failureOf } from './failures.ts'

it('a full disk is temporary: 503, and no internal error', () => {
  const full = Object.assign(new pg.DatabaseError('could not extend file', 0, 'error'), { code: '53100' })
  expect(failureOf(full)).toMatchObject({ status: 503, code: 'UNAVAILABLE' })
})
