import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '#telemetry/log.ts'
import type { LoopMetrics } from '#telemetry/metrics.ts'

/** A started part that runs until it is stopped. */
export interface Running {
  /**
   * Accepts nothing new, finishes work in progress, then resolves; abandons the rest after `deadlineMs`.
   * May be called twice: the second call waits for the first. Never rejects.
   */
  stop(deadlineMs: number): Promise<void>
}

/** Parts that depend on those pushed before them. They are stopped in reverse order. */
export interface RunningStack extends Running {
  /** Adds a part. A part that is still starting is stopped once it has started. The caller handles its failure. */
  push(name: string, part: Running | Promise<Running>): void
  readonly isStopping: boolean
}

export function createStack(log: Log): RunningStack {
  const parts: { name: string; part: Promise<Running | undefined> }[] = []
  let stopping: Promise<void> | undefined
  async function stopAll(deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs
    for (const { name, part } of parts.reverse()) {
      const startedAt = performance.now()
      const started = await part
      // The last parts (such as the database) get a minimum time even if the others have used up the deadline.
      const leftMs = Math.max(deadline - startedAt, STOP_MIN_MS)
      await started?.stop(leftMs).catch((error) => log.error({ err: error, part: name }, 'could not stop'))
      log.debug({ part: name, durationMs: Math.round(performance.now() - startedAt) }, 'stopped')
    }
  }
  return {
    push(name, part) {
      const started = Promise.resolve(part).catch(() => undefined)
      // A part that starts after the stop was requested is stopped immediately.
      if (stopping) void started.then((late) => late?.stop(STOP_MIN_MS))
      else parts.push({ name, part: started })
    },
    get isStopping() {
      return stopping !== undefined
    },
    stop: (deadlineMs) => (stopping ??= stopAll(deadlineMs)),
  }
}

const STOP_MIN_MS = 1_000

/**
 * One pass over the due work. Resolves to true if there may be more, so that the next pass follows immediately.
 * The signal aborts when the deadline of a stop has passed: abandon what can be abandoned.
 */
type Pass = (signal: AbortSignal) => Promise<unknown>

export interface Loop extends Running {
  /** Starts a pass now, or another one after the current pass. */
  wake(): void
}

export interface LoopDeps {
  log: Log
  loops?: LoopMetrics | undefined
}

/**
 * Runs passes one after the other until stopped. A failed pass is logged, and the loop continues after a pause.
 * @param pollMs how long an idle loop waits: the maximum delay of work that arrives without a wakeup
 */
export function runLoop({ log, loops }: LoopDeps, name: string, pollMs: number, pass: Pass): Loop {
  const stopping = new AbortController()
  const abandoning = new AbortController()
  let woken = false
  let interruptWait = () => {}

  async function run(): Promise<void> {
    let failures = 0
    loops?.started(name, pollMs)
    while (!stopping.signal.aborted) {
      woken = false
      try {
        const more = (await pass(abandoning.signal)) === true
        failures = 0
        loops?.passed(name)
        if (!more && !woken) await wait(pollMs, true)
      } catch (error) {
        failures += 1
        loops?.failed(name, failures)
        const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
        log.error({ err: error, loop: name, failures, pauseMs }, 'a loop pass failed; retrying after a pause')
        // A wakeup does not shorten this pause: while the database is unavailable, every request would cause one.
        await wait(pauseMs, false)
      }
    }
  }

  /**
   * Ends early at a stop, and at a wakeup if it `wakes`. Hand-written, because abort signals and their errors would be
   * slower than a wakeup.
   */
  async function wait(durationMs: number, wakes: boolean): Promise<void> {
    if (stopping.signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(end, durationMs)
      function end(): void {
        clearTimeout(timer)
        stopping.signal.removeEventListener('abort', end)
        resolve()
      }
      stopping.signal.addEventListener('abort', end)
      if (wakes) interruptWait = end
    })
    interruptWait = () => {}
  }

  const ended = run()
  return {
    wake() {
      woken = true
      interruptWait()
    },
    async stop(deadlineMs) {
      stopping.abort()
      if (await settlesWithin(ended, deadlineMs)) return
      log.warn({ loop: name, deadlineMs }, 'a loop pass did not end in time and was abandoned')
      abandoning.abort()
    },
  }
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** True if the promise settles before the deadline. */
export async function settlesWithin(promise: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(deadlineMs, false, { signal: timer.signal }).catch(() => false)
  const settled = await Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    late,
  ])
  timer.abort()
  return settled
}

/**
 * The gateway cannot start for a reason that the user can fix. The message says what happened and what to do. Printed
 * without a stack.
 */
export class StartRefused extends Error {
  override readonly name: string = 'StartRefused'
}
