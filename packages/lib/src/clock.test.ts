import { expect, it } from 'vitest'
import { createDatabaseClock, type DatabaseClock } from './clock.ts'

/** A node whose clock is a second behind the database's, and whose monotonic reading the test moves. */
function node() {
  const at = { monotonicMs: 1_000 }
  const read = createDatabaseClock({ now: () => at.monotonicMs, monotonic: () => at.monotonicMs })
  return { at, read }
}

const AHEAD_MS = 1_000

/** Makes a round trip that ends now. The given part of it had passed when the database read its clock. */
function roundTrip(at: { monotonicMs: number }, read: DatabaseClock, tookMs: number, part: number, ahead = AHEAD_MS) {
  const sentAt = at.monotonicMs
  at.monotonicMs += tookMs
  read.observe(sentAt + tookMs * part + ahead, sentAt, at.monotonicMs)
}

/** Returns how far the node is from the database's clock. */
const faultMs = (at: { monotonicMs: number }, read: DatabaseClock, ahead = AHEAD_MS) =>
  Math.abs(read.now() - (at.monotonicMs + ahead))

it('the first reading counts even if it was slow, because it is better than the node’s own clock', () => {
  const { at, read } = node()
  roundTrip(at, read, 400, 0.5)
  expect(faultMs(at, read)).toBeLessThanOrEqual(1)
})

it('a slow round trip does not override a quick one’s reading', () => {
  const { at, read } = node()
  roundTrip(at, read, 2, 0.5)
  for (const part of [0, 1]) {
    roundTrip(at, read, 3_000, part)
    expect(faultMs(at, read)).toBeLessThanOrEqual(1)
  }
})

it('a quick round trip corrects a slow one’s reading', () => {
  const { at, read } = node()
  roundTrip(at, read, 3_000, 1)
  expect(faultMs(at, read)).toBeGreaterThan(1_000)
  roundTrip(at, read, 2, 1)
  expect(faultMs(at, read)).toBeLessThanOrEqual(2)
})

it('the best round trip loses precision only by the clocks’ possible drift since then', () => {
  const { at, read } = node()
  roundTrip(at, read, 20, 0.5)
  at.monotonicMs += 10_000 // errs by 15 ms at most
  roundTrip(at, read, 40, 1)
  expect(faultMs(at, read)).toBeLessThanOrEqual(1)
  at.monotonicMs += 60_000 // errs by 45 ms at most
  roundTrip(at, read, 40, 0.5, AHEAD_MS + 9)
  expect(faultMs(at, read, AHEAD_MS + 9)).toBeLessThanOrEqual(1)
})

it('a change in the database clock is followed immediately, within the error of the reading’s round trip', () => {
  const { at, read } = node()
  roundTrip(at, read, 2, 0.5)
  roundTrip(at, read, 100, 0.5, AHEAD_MS - 60_000)
  expect(faultMs(at, read, AHEAD_MS - 60_000)).toBeLessThanOrEqual(50)
})
