import { describe, expect, it } from 'vitest'
import { createRequestLimit, REQUESTS_MAX, REQUESTS_MIN } from './request-limit.ts'

describe('the limit on requests in progress', () => {
  /** Simulates seconds of load in which the limit is always reached and each answer takes `durationMs`. @returns the state */
  function loaded(seconds: number, durationMs: number | undefined, state = unloaded()) {
    for (let step = 0; step < seconds * 100; step++) {
      while (!state.limit.isReached()) {
        state.limit.begin()
        state.inProgress++
      }
      state.time.now += 10
      for (let answer = 0; answer < 5 && state.inProgress > 0 && durationMs !== undefined; answer++) {
        state.inProgress--
        state.limit.end(durationMs)
      }
    }
    return state
  }

  function unloaded() {
    const time = { now: 0 }
    return { time, inProgress: 0, limit: createRequestLimit({ monotonic: () => time.now }) }
  }

  it('shrinks while answers are slow, and grows again when they are fast', () => {
    const state = loaded(2, 500)
    expect(state.inProgress).toBeLessThanOrEqual(REQUESTS_MIN)
    loaded(3, 5, state)
    expect(state.inProgress).toBeGreaterThan(REQUESTS_MAX * 0.95)
  })

  it('allows a burst of two hundred requests to pass', () => {
    expect(loaded(0.01, 500).inProgress).toBeGreaterThan(200)
  })

  it('allows bursts of two hundred in succession, however slow the requests are', () => {
    const state = unloaded()
    for (let burst = 0; burst < 20; burst++) {
      for (let call = 0; call < 200; call++) {
        expect(state.limit.isReached()).toBe(false)
        state.limit.begin()
      }
      for (let call = 0; call < 200; call++) {
        state.time.now += 3
        state.limit.end(state.time.now)
      }
    }
  })

  it('allows a burst of two hundred after an overload has ended', () => {
    const state = loaded(2, 500)
    while (state.inProgress > 0) {
      state.inProgress--
      state.limit.end(500)
    }
    state.time.now += 2_001
    expect(loaded(0.01, 500, state).inProgress).toBeGreaterThan(200)
  })

  it('does not shrink while nothing is answered, because the requests are then waiting for a lock', () => {
    const state = loaded(1, 500)
    const before = state.inProgress
    loaded(10, undefined, state)
    expect(state.inProgress).toBeGreaterThan(before)
    expect(state.inProgress).toBe(REQUESTS_MAX)
  })
})
