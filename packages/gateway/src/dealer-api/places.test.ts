import { expect, it } from 'vitest'
import { openPlaces, PLACES_MAX, PLACES_MIN } from './places.ts'

/** Seconds of load in which every place is always taken and each answer takes so long. */
function crowded(seconds: number, durationMs: number | undefined, state = fresh()) {
  for (let step = 0; step < seconds * 100; step++) {
    while (!state.places.isFull()) {
      state.places.take()
      state.taken++
    }
    state.time.now += 10
    for (let answer = 0; answer < 5 && state.taken > 0 && durationMs !== undefined; answer++) {
      state.taken--
      state.places.leave(durationMs)
    }
  }
  return state
}

function fresh() {
  const time = { now: 0 }
  return { time, taken: 0, places: openPlaces({ now: () => 0, monotonic: () => time.now }) }
}

it('has fewer places while answers are slow, and all of them again when they are quick', () => {
  const state = crowded(2, 500)
  expect(state.taken).toBeLessThanOrEqual(PLACES_MIN)
  crowded(3, 5, state)
  expect(state.taken).toBeGreaterThan(PLACES_MAX * 0.95)
})

it('takes a burst of two hundred', () => {
  expect(crowded(0.01, 500).taken).toBeGreaterThan(200)
})

it('takes bursts of two hundred one after the other, however slow they are', () => {
  const state = fresh()
  for (let burst = 0; burst < 20; burst++) {
    for (let call = 0; call < 200; call++) {
      expect(state.places.isFull()).toBe(false)
      state.places.take()
    }
    for (let call = 0; call < 200; call++) {
      state.time.now += 3
      state.places.leave(state.time.now)
    }
  }
})

it('takes a burst of two hundred when a crowd has gone', () => {
  const state = crowded(2, 500)
  while (state.taken > 0) {
    state.taken--
    state.places.leave(500)
  }
  state.time.now += 2_001
  expect(crowded(0.01, 500, state).taken).toBeGreaterThan(200)
})

it('keeps its places while nothing is answered: that is a lock, not load', () => {
  const state = crowded(1, 500)
  const before = state.taken
  crowded(10, undefined, state)
  expect(state.taken).toBeGreaterThan(before)
  expect(state.taken).toBe(PLACES_MAX)
})
