import { expect, test } from 'vitest'
import { unencryptedWarning } from './check-database.ts'

test('doctor warns about an unencrypted connection to a database on another machine', () => {
  const sameMachine = ['127.0.0.1', '::1', null].map((address) => unencryptedWarning({ encrypted: false, address }))
  expect(sameMachine).toEqual([undefined, undefined, undefined])
  expect(unencryptedWarning({ encrypted: true, address: '10.0.0.5' })).toBeUndefined()
  expect(unencryptedWarning({ encrypted: false, address: '10.0.0.5' })).toMatch(
    /at 10\.0\.0\.5 is not encrypted.*sslmode=verify-full/,
  )
})
