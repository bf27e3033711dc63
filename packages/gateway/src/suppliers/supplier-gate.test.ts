import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGate } from './supplier-gate.ts'

function createTestGate(traits: { concurrency?: number; perSecond?: number | null } = {}) {
  const time = { nowMs: 1_000 }
  const clock = { now: () => time.nowMs, monotonic: () => time.nowMs }
  const gate = createGate({ concurrency: 10, perSecond: null, ...traits }, clock)
  return {
    gate,
    pass(ms: number) {
      time.nowMs += ms
    },
    /** Makes one call. @returns whether it was given a permit */
    call(down: boolean): boolean {
      if (gate.acquire('t', 1) === 0) return false
      gate.complete('t', 1, 10, down)
      return true
    },
  }
}

describe('a supplier without money', () => {
  it('allows one trial purchase every half minute, and all queries', () => {
    const { gate, pass } = createTestGate()
    const purchase = () => gate.acquire('t', 2, 'PURCHASE')
    const query = () => gate.acquire('t', 1, 'QUERY')
    expect([purchase(), gate.awaitsMoney]).toEqual([2, false])
    gate.lacksMoney = true
    expect([gate.isInterrupted, gate.awaitsMoney, purchase(), query()]).toEqual([true, true, 0, 1])
    pass(20_000)
    gate.lacksMoney = true // set again at every later reading
    pass(10_000)
    expect([gate.isInterrupted, query(), gate.isInterrupted]).toEqual([false, 1, false])
    expect([purchase(), purchase(), gate.isInterrupted]).toEqual([1, 0, true])
    gate.lacksMoney = false
    expect([gate.isInterrupted, purchase()]).toEqual([false, 2])
  })

  it('schedules one waiting purchase for the next trial, and the others for later', () => {
    const { gate, pass } = createTestGate()
    gate.lacksMoney = true
    pass(10_000)
    expect([gate.trialInMs(), gate.trialInMs(), gate.trialInMs()]).toEqual([20_000, 60_000, 60_000])
    pass(50_000)
    expect([gate.awaitsMoney, gate.acquire('t', 1, 'PURCHASE')]).toEqual([false, 1])
    expect([gate.trialInMs(), gate.trialInMs()]).toEqual([30_000, 60_000])
  })
})

describe('the breaker', () => {
  it('opens after five failures in a row, but not if a success comes in between', () => {
    const { gate, call } = createTestGate()
    for (let n = 0; n < 4; n++) call(true)
    call(false)
    for (let n = 0; n < 4; n++) call(true)
    expect(gate.state).toBe('closed')
    call(true)
    expect(gate.state).toBe('open')
    expect(call(false)).toBe(false)
  })

  it('counts the supplier as interrupted while it is open or probing, but not when a probe is due', () => {
    const { gate, call, pass } = createTestGate()
    expect(gate.isInterrupted).toBe(false)
    for (let n = 0; n < 5; n++) call(true)
    expect(gate.isInterrupted).toBe(true)
    pass(5_000)
    expect(gate.isInterrupted).toBe(false)
    expect(gate.acquire('t', 1)).toBe(1)
    expect(gate.isInterrupted).toBe(true)
    gate.complete('t', 1, 10, false)
    expect(gate.isInterrupted).toBe(false)
  })

  it('allows one probe after five seconds, and doubles the interval up to half a minute', () => {
    const { gate, call, pass } = createTestGate()
    for (let n = 0; n < 5; n++) call(true)
    const waitsMs: number[] = []
    for (let n = 0; n < 7; n++) {
      waitsMs.push(Math.ceil(gate.retryInMs('t') / 1_000) * 1_000)
      pass(waitsMs.at(-1)!)
      expect(gate.state).toBe('half-open')
      expect(gate.acquire('t', 10)).toBe(1)
      expect(gate.acquire('t', 10)).toBe(0)
      pass(10)
      gate.complete('t', 1, 10, true)
    }
    expect(waitsMs).toEqual([5_000, 10_000, 20_000, 30_000, 30_000, 30_000, 30_000])
    pass(30_000)
    expect(call(false)).toBe(true)
    expect(gate.state).toBe('closed')
    expect(gate.acquire('t', 10)).toBe(10)
  })

  it('is not kept open by calls that were in progress when it opened', () => {
    const { gate, pass } = createTestGate()
    gate.acquire('t', 10)
    for (let n = 0; n < 10; n++) gate.complete('t', 1, 10, true)
    pass(5_000)
    expect(gate.state).toBe('half-open')
  })
})

describe('orders waiting for a hanging supplier', () => {
  /** No order may wait longer than this once the supplier answers again and its last call has timed out. */
  const WAIT_MAX_MS = 60_000

  /**
   * Retries orders until the supplier, which hangs until `recoversAtMs`, has answered each.
   * @returns when the last was answered
   */
  function lastAnsweredAt(input: { orders: number; timeoutMs: number; recoversAtMs: number; everyMs: number }): number {
    const { orders, timeoutMs, recoversAtMs, everyMs } = input
    const { gate, pass } = createTestGate()
    let nowMs = 0
    let answeredAt = 0
    const events = Array.from({ length: orders }, (_, n) => ({
      atMs: n * everyMs,
      end: undefined as boolean | undefined,
    }))
    for (;;) {
      events.sort((left, right) => left.atMs - right.atMs)
      const event = events.shift()
      if (event === undefined) return answeredAt
      pass(event.atMs - nowMs)
      nowMs = event.atMs
      if (event.end !== undefined) {
        gate.complete('t', 1, event.end ? timeoutMs : ANSWER_MS, event.end)
        if (event.end) events.push({ atMs: nowMs + 1_000, end: undefined })
        else answeredAt = nowMs
      } else if (gate.acquire('t', 1) === 1) {
        const hangs = nowMs < recoversAtMs
        events.push({ atMs: nowMs + (hangs ? timeoutMs : ANSWER_MS), end: hangs })
      } else events.push({ atMs: nowMs + gate.retryInMs('t'), end: undefined })
    }
  }
  const ANSWER_MS = 100

  it('are all answered within a minute after the supplier recovers and its last call ends', () => {
    fc.assert(
      fc.property(
        fc.record({
          orders: fc.integer({ min: 1, max: 60 }),
          timeoutMs: fc.integer({ min: 1_000, max: 60_000 }),
          recoversAtMs: fc.integer({ min: 0, max: 600_000 }),
          everyMs: fc.integer({ min: 0, max: 5_000 }),
        }),
        (input) => {
          const lastOrderAt = input.orders * input.everyMs
          const since = Math.max(input.recoversAtMs + input.timeoutMs, lastOrderAt)
          expect(lastAnsweredAt(input) - since).toBeLessThan(WAIT_MAX_MS + 2_000)
        },
      ),
    )
  })
})

describe('supplier permits', () => {
  it('are limited to the number of concurrent calls, and are returned after use', () => {
    const { gate } = createTestGate({ concurrency: 3 })
    expect([gate.acquire('t', 2), gate.acquire('t', 2), gate.acquire('t', 1)]).toEqual([2, 1, 0])
    gate.complete('t', 1, 10, false)
    gate.release('t', 1)
    expect(gate.acquire('t', 5)).toBe(2)
  })

  it('are shared among the tenants that hold or await permits', () => {
    const { gate } = createTestGate({ concurrency: 10 })
    expect(gate.acquire('a', 100)).toBe(10)
    expect(gate.acquire('b', 100)).toBe(0)
    gate.retryInMs('b')
    for (let n = 0; n < 10; n++) gate.complete('a', 1, 10, false)
    expect(gate.acquire('a', 100)).toBe(5)
    expect(gate.acquire('b', 100)).toBe(5)
  })

  it('are not reserved for a tenant that does not retry', () => {
    const { gate, pass } = createTestGate({ concurrency: 10 })
    gate.acquire('a', 10)
    pass(gate.retryInMs('b') + 501)
    gate.complete('a', 10, 10, false)
    expect(gate.acquire('a', 100)).toBe(10)
  })

  it('are offered to waiting requests one by one, as permits become free', () => {
    const { gate } = createTestGate({ concurrency: 1 })
    gate.acquire('t', 1)
    const firstMs = gate.retryInMs('t')
    expect(gate.retryInMs('t')).toBe(2 * firstMs)
  })
})

it('the rate limit saves up at most one second of unused requests', () => {
  const { gate, pass } = createTestGate({ perSecond: 4 })
  expect(gate.acquire('t', 10)).toBe(4)
  pass(500)
  expect(gate.acquire('t', 10)).toBe(2)
  gate.complete('t', 6, 10, false)
  pass(60_000)
  expect(gate.acquire('t', 10)).toBe(4)
})
