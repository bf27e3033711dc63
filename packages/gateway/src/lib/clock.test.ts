import { expect, it } from 'vitest'
import { type DatabaseClock, databaseClock } from './clock.ts'

/** A node whose clock is a second behind the database's, and whose monotonic reading the test moves. */
function node() {
  const at = { monotonic_ms: 1_000 }
  const read = databaseClock({ now: () => at.monotonic_ms, monotonic: () => at.monotonic_ms })
  return { at, read }
}

const AHEAD_MS = 1_000

/** A round trip that ends now, of which so much had passed when the database read its clock. */
function roundTrip(at: { monotonic_ms: number }, read: DatabaseClock, took_ms: number, part: number, ahead = AHEAD_MS) {
  const sent_at = at.monotonic_ms
  at.monotonic_ms += took_ms
  read.observe(sent_at + took_ms * part + ahead, sent_at, at.monotonic_ms)
}

/** How far the node is from the database's clock. */
const fault_ms = (at: { monotonic_ms: number }, read: DatabaseClock, ahead = AHEAD_MS) =>
  Math.abs(read.now() - (at.monotonic_ms + ahead))

it('takes the first reading, however slow: the node’s own clock says less', () => {
  const { at, read } = node()
  roundTrip(at, read, 400, 0.5)
  expect(fault_ms(at, read)).toBeLessThanOrEqual(1)
})

it('is not moved by a slow round trip after a quick one', () => {
  const { at, read } = node()
  roundTrip(at, read, 2, 0.5)
  for (const part of [0, 1]) {
    roundTrip(at, read, 3_000, part)
    expect(fault_ms(at, read)).toBeLessThanOrEqual(1)
  }
})

it('is mended by a quick round trip after a slow one', () => {
  const { at, read } = node()
  roundTrip(at, read, 3_000, 1)
  expect(fault_ms(at, read)).toBeGreaterThan(1_000)
  roundTrip(at, read, 2, 1)
  expect(fault_ms(at, read)).toBeLessThanOrEqual(2)
})

it('trusts its best round trip less as the clocks may have drifted since, and no less than that', () => {
  const { at, read } = node()
  roundTrip(at, read, 20, 0.5)
  at.monotonic_ms += 10_000 // errs by 15 ms at most
  roundTrip(at, read, 40, 1)
  expect(fault_ms(at, read)).toBeLessThanOrEqual(1)
  at.monotonic_ms += 60_000 // by 45 ms
  roundTrip(at, read, 40, 0.5, AHEAD_MS + 9)
  expect(fault_ms(at, read, AHEAD_MS + 9)).toBeLessThanOrEqual(1)
})

it('follows a clock that was set, at once, and within the error of the round trip that tells', () => {
  const { at, read } = node()
  roundTrip(at, read, 2, 0.5)
  roundTrip(at, read, 100, 0.5, AHEAD_MS - 60_000)
  expect(fault_ms(at, read, AHEAD_MS - 60_000)).toBeLessThanOrEqual(50)
})
