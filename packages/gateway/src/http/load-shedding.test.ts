import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { ApiError } from '../lib/api-error.ts'
import { systemClock } from '../lib/clock.ts'
import type { Log } from '../lib/telemetry/log.ts'
import {
  createByteBudget,
  createLoadShedder,
  createPageQueue,
  createRequestLimit,
  createTurns,
  PIPELINED_MAX,
  REQUESTS_MAX,
  REQUESTS_MIN,
  STARTED_PER_TURN,
  WAITING_MAX,
} from './load-shedding.ts'

describe('the limit of requests in progress', () => {
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

  it('shrinks while answers are slow, and grows back when they are quick', () => {
    const state = loaded(2, 500)
    expect(state.inProgress).toBeLessThanOrEqual(REQUESTS_MIN)
    loaded(3, 5, state)
    expect(state.inProgress).toBeGreaterThan(REQUESTS_MAX * 0.95)
  })

  it('lets a burst of two hundred pass', () => {
    expect(loaded(0.01, 500).inProgress).toBeGreaterThan(200)
  })

  it('lets bursts of two hundred pass one after the other, however slow they are', () => {
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

  it('lets a burst of two hundred pass after an overload has ended', () => {
    const state = loaded(2, 500)
    while (state.inProgress > 0) {
      state.inProgress--
      state.limit.end(500)
    }
    state.time.now += 2_001
    expect(loaded(0.01, 500, state).inProgress).toBeGreaterThan(200)
  })

  it('does not shrink while nothing is answered: requests then wait for a lock and not for the machine', () => {
    const state = loaded(1, 500)
    const before = state.inProgress
    loaded(10, undefined, state)
    expect(state.inProgress).toBeGreaterThan(before)
    expect(state.inProgress).toBe(REQUESTS_MAX)
  })
})

describe('the page queue', () => {
  const connection = () => new PassThrough() as unknown as Socket

  it('starts a few requests per turn in the order of their arrival, and the first ones at once', async () => {
    const pages = createPageQueue(() => {})
    const started: number[] = []
    const enter = (number: number) => pages.enter(connection(), () => started.push(number))
    for (let number = 0; number < 2 * STARTED_PER_TURN + 1; number++) enter(number)
    expect(started).toEqual([0, 1, 2, 3])
    await turn()
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    enter(9)
    expect(started).toHaveLength(8)
    await turn()
    expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await turn()
    enter(10)
    expect(started.at(-1)).toBe(10)
  })

  it('refuses requests beyond its length, and one log line a second counts them', async () => {
    const refused: unknown[] = []
    const log = { warn: (fields: object) => void refused.push(fields) } as unknown as Log
    const { pages } = createLoadShedder({ clock: systemClock, log })
    let started = 0
    const enter = () => pages.enter(connection(), () => started++)
    const entered = Array.from({ length: STARTED_PER_TURN + WAITING_MAX + 2 }, enter)
    expect(entered.filter((isEntered) => !isEntered)).toHaveLength(2)
    await turn()
    expect(enter()).toBe(true)
    while (started < STARTED_PER_TURN + WAITING_MAX + 1) await turn()
    await vi.waitFor(() => expect(refused).toEqual([{ refused: 2 }]), { timeout: 3_000 })
  })

  it('holds few requests of one connection, and none of one that has closed', async () => {
    const pages = createPageQueue(() => {})
    let started = 0
    const enter = (socket: Socket) => pages.enter(socket, () => started++)
    const [greedy, gone, other] = [connection(), connection(), connection()]
    for (let request = 0; request < STARTED_PER_TURN + PIPELINED_MAX; request++) enter(greedy)
    expect(greedy.destroyed).toBe(false)
    enter(greedy)
    expect(greedy.destroyed).toBe(true)
    enter(gone)
    gone.destroy()
    enter(other)
    await turn()
    expect(started).toBe(STARTED_PER_TURN + 1)
  })
})

describe('a byte budget', () => {
  it('drops the largest holder when it is exceeded, no matter which connection exceeds it', () => {
    const dropped: string[] = []
    const budget = createByteBudget<string>(10, (holder) => dropped.push(holder))
    budget.hold('large', 4)
    budget.hold('small', 3)
    budget.hold('large', 2)
    expect(dropped).toEqual([])
    budget.hold('small', 2)
    expect(dropped).toEqual(['large'])
    budget.release('large', 6)
    budget.hold('other', 5)
    expect(dropped).toEqual(['large'])
    budget.release('small')
    budget.hold('other', 5)
    expect(dropped).toEqual(['large'])
    budget.hold('other', 1)
    expect(dropped).toEqual(['large', 'other'])
  })
})

describe('turns', () => {
  it('are granted a few per turn of the event loop, tenant by tenant, until all are granted', async () => {
    const turns = createTurns(() => {})
    const order: string[] = []
    const started = ['a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'b', 'c'].map(async (tenantId) => {
      await turns.take(tenantId)
      order.push(tenantId)
    })
    await Promise.resolve()
    expect(order).toEqual(['a', 'a', 'a', 'a'])
    await Promise.all(started)
    expect(order).toEqual(['a', 'a', 'a', 'a', 'a', 'b', 'c', 'a', 'a', 'a', 'a', 'a'])
    await turn()
    expect(turns.take('a')).toBeUndefined()
  })

  it('of one tenant are refused beyond half of the requests that may be in progress, and those of others are not', () => {
    let refused = 0
    const turns = createTurns(() => void refused++)
    for (let at = 0; at < 4 + REQUESTS_MAX / 2; at++) void turns.take('a')
    expect(() => turns.take('a')).toThrow(new ApiError('000002'))
    expect(turns.take('b')).toBeInstanceOf(Promise)
    expect(refused).toBe(1)
  })
})
