import { describe, expect, it, vi } from 'vitest'
import { silentLog } from '#telemetry/log.ts'
import { createStack, type Running, runLoop } from './start-stop.ts'

const log = silentLog
const NEVER_MS = 3_600_000

/** Returns a pass for a loop, and a function that ends its passes one by one. */
function gate() {
  const arrivals: (() => void)[] = []
  let waiting: ((open: () => void) => void) | undefined
  return {
    pass: () =>
      new Promise<void>((resolve) => {
        if (waiting) waiting(resolve)
        else arrivals.push(resolve)
        waiting = undefined
      }),
    /** The next pass under way; calling it ends the pass. */
    next: () =>
      new Promise<() => void>((resolve) => {
        const arrived = arrivals.shift()
        if (arrived) resolve(arrived)
        else waiting = resolve
      }),
  }
}

describe('a loop', () => {
  it('runs a pass immediately, and further passes while there is work left', async () => {
    let passes = 0
    const done = new Promise<void>((resolve) => {
      runLoop({ log }, 'test', NEVER_MS, async () => {
        passes += 1
        if (passes === 3) resolve()
        return passes < 3
      })
    })
    await done
    expect(passes).toBe(3)
  })

  it('runs a pass when it is woken, and another pass if it was woken during the first', async () => {
    const { pass, next } = gate()
    const loop = runLoop({ log }, 'test', NEVER_MS, () => pass().then(() => false))
    const first = await next()
    loop.wake()
    first()
    const second = await next() // for the wake-up during the first
    second()
    loop.wake()
    const third = await next()
    third()
    await loop.stop(NEVER_MS)
  })

  it('runs a pass when its poll interval has passed', async () => {
    const { pass, next } = gate()
    const loop = runLoop({ log }, 'test', 1, () => pass().then(() => false))
    for (let round = 0; round < 3; round++) (await next())()
    const stopped = loop.stop(NEVER_MS)
    await stopped
  })

  it('logs a failed pass and continues afterwards', async () => {
    const error = vi.fn()
    let passes = 0
    const { pass, next } = gate()
    const loop = runLoop({ log: { ...log, error } as never }, 'test', NEVER_MS, async () => {
      passes += 1
      if (passes === 1) throw new Error('no')
      await pass()
      return false
    })
    ;(await next())()
    expect(error).toHaveBeenCalledOnce()
    await loop.stop(NEVER_MS)
  })

  it('finishes the current pass when it is stopped, and does not start another', async () => {
    const { pass, next } = gate()
    let ended = 0
    const loop = runLoop({ log }, 'test', 1, async () => {
      await pass()
      ended += 1
      return true
    })
    const first = await next()
    const stopped = loop.stop(NEVER_MS)
    loop.wake()
    first()
    await stopped
    expect(ended).toBe(1)
    await loop.stop(NEVER_MS)
  })

  it('abandons a pass at the deadline through its abort signal', async () => {
    let signal: AbortSignal | undefined
    const { pass, next } = gate()
    const loop = runLoop({ log }, 'test', 1, async (given) => {
      signal = given
      await pass()
      return false
    })
    const first = await next()
    await loop.stop(1)
    expect(signal?.aborted).toBe(true)
    first()
  })
})

describe('a stack of running parts', () => {
  function part(name: string, stopped: string[], outcome?: Error): Running {
    return {
      async stop() {
        stopped.push(name)
        if (outcome) throw outcome
      },
    }
  }

  it('stops its parts once, in reverse order, even if one of them fails', async () => {
    const stopped: string[] = []
    const stack = createStack(log)
    stack.push('database', part('database', stopped))
    stack.push('worker', part('worker', stopped, new Error('no')))
    stack.push('api', part('api', stopped))
    await Promise.all([stack.stop(NEVER_MS), stack.stop(NEVER_MS)])
    expect(stopped).toEqual(['api', 'worker', 'database'])
  })

  it('immediately stops a part that is pushed after the stop', async () => {
    const stopped: string[] = []
    const stack = createStack(log)
    await stack.stop(NEVER_MS)
    stack.push('late', part('late', stopped))
    await expect.poll(() => stopped).toEqual(['late'])
  })

  it('waits for a part that is still starting, then stops it', async () => {
    const stopped: string[] = []
    const stack = createStack(log)
    let start = (_: Running) => {}
    stack.push('database', new Promise((resolve) => (start = resolve)))
    stack.push('broken', Promise.reject(new Error('it does not start')))
    const stopping = stack.stop(NEVER_MS)
    expect([stopped, stack.isStopping]).toEqual([[], true])
    start(part('database', stopped))
    await stopping
    expect(stopped).toEqual(['database'])
  })
})
