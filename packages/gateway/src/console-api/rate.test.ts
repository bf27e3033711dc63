import { expect, it } from 'vitest'
import { rateLimiter } from './rate.ts'

it('an address is let in again after a minute, also when the clock was set back meanwhile', () => {
  const time = { now_ms: 1_000_000_000, monotonic_ms: 0 }
  const limit = rateLimiter({ now: () => time.now_ms, monotonic: () => time.monotonic_ms } as { monotonic(): number })
  limit('sign-in', 1, '192.0.2.1')
  expect(() => limit('sign-in', 1, '192.0.2.1')).toThrow('Too many calls')
  Object.assign(time, { now_ms: 0, monotonic_ms: 60_000 })
  expect(() => limit('sign-in', 1, '192.0.2.1')).not.toThrow()
})
