import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { CommitUnknown } from '@dealer-esim/lib/postgres/errors.ts'
import pg from 'pg'
import { expect, it } from 'vitest'
import { failureAnswer, sendAnswer, successAnswer, toApiError } from './answer.ts'

it('a header set by an error replaces the header set by its code', () => {
  const overload = new ApiError('000002', { headers: { 'Retry-After': '7' } })
  const { headers } = failureAnswer('7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11', overload)
  const sent = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'retry-after')
  expect(sent).toEqual([['Retry-After', '7']])
})

it('an unanswered COMMIT is never reported as having had no effect', () => {
  expect(toApiError(new CommitUnknown(new Error('the connection was lost'))).code).toBe('000001')
  expect(toApiError(Object.assign(new Error('connection refused'), { errno: -111 })).code).toBe('000002')
})

it.each([
  ['53100', 'could not extend file "base/5/16384": No space left on device'],
  ['58030', 'could not write block 7 of relation base/5/16384'],
  ['XX000', 'could not write file "pg_wal/xlogtemp.1": Disk quota exceeded'],
])('a full disk (%s: %s) is reported as temporary', (code, message) => {
  expect(toApiError(Object.assign(new pg.DatabaseError(message, 0, 'error'), { code })).code).toBe('000002')
})

it('an answer in parts is sent whole, and its parts are released', async () => {
  const parts = ['{"packageList":[', '"Österreich"', ',"日本"', ']}']
  const server = createServer((_, response) => void sendAnswer(response, successAnswer('', parts), { isLast: true }))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect(await answer.json()).toMatchObject({ code: '000000', data: { packageList: ['Österreich', '日本'] } })
  expect(parts).toEqual([])
  server.close()
})
