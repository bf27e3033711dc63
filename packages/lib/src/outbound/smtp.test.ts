import { expect, it } from 'vitest'
import { isPlaintextAllowed } from './smtp.ts'

it.each([
  ['smtp://127.0.0.1:25', true],
  ['smtp://localhost', true],
  ['smtp://[::1]:2525', true],
  ['smtp://mail.example.com?tls=none', true],
  ['smtp://mail.example.com', false],
  ['smtp://localhost.example.com', false],
  ['smtp://127.0.0.1.example.com', false],
])('mail to %s may go without TLS: %s', (url, isAllowed) => {
  expect(isPlaintextAllowed(new URL(url))).toBe(isAllowed)
})
