import { expect, it } from 'vitest'
import { createRateLimiter } from './rate-limit.ts'

it('an address may call again after a minute even if the clock has been set back', () => {
  const time = { nowMs: 1_000_000_000, monotonicMs: 0 }
  const limit = createRateLimiter({ now: () => time.nowMs, monotonic: () => time.monotonicMs } as {
    monotonic(): number
  })
  limit('sign-in', 1, '192.0.2.1')
  expect(() => limit('sign-in', 1, '192.0.2.1')).toThrow('Too many calls')
  Object.assign(time, { nowMs: 0, monotonicMs: 60_000 })
  expect(() => limit('sign-in', 1, '192.0.2.1')).not.toThrow()
})
