import { expect, test } from 'vitest'
import { whyReadable } from './database.ts'

test('a way to the database that is not encrypted is warned of, but for one within this machine', () => {
  const within = ['127.0.0.1', '::1', null].map((address) => whyReadable({ encrypted: false, address }))
  expect(within).toEqual([undefined, undefined, undefined])
  expect(whyReadable({ encrypted: true, address: '10.0.0.5' })).toBeUndefined()
  expect(whyReadable({ encrypted: false, address: '10.0.0.5' })).toMatch(
    /at 10\.0\.0\.5 is not encrypted.*sslmode=verify-full/,
  )
})
