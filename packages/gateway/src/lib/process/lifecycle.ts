import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../telemetry/log.ts'
import type { LoopMetrics } from '../telemetry/metrics.ts'

/** Something that was started and runs until it is stopped. */
export interface Running {
  /**
   * Takes nothing new, finishes what it has begun, and resolves; after `deadlineMs` it gives up what is left.
   * May be called twice: the second call waits for the first. Never rejects.
   */
  stop(deadlineMs: number): Promise<void>
}

/** Things started one upon the other, to be stopped in reverse. */
export interface RunningStack extends Running {
  push(name: string, part: Running): void
}

export function createStack(log: Log): RunningStack {
  const parts: { name: string; part: Running }[] = []
  let stopping: Promise<void> | undefined
  async function stopAll(deadlineMs: number): Promise<void> {
    const deadline = performance.now() + deadlineMs
    for (const { name, part } of parts.reverse()) {
      const startedAt = performance.now()
      // What comes last (the database) still gets a moment when the parts above have used up the time.
      const leftMs = Math.max(deadline - startedAt, STOP_MIN_MS)
      await part.stop(leftMs).catch((error) => log.error({ err: error, part: name }, 'could not be stopped'))
      log.debug({ part: name, durationMs: Math.round(performance.now() - startedAt) }, 'stopped')
    }
  }
  return {
    push(name, part) {
      // What a start still brings up after a stop was asked for goes down again at once.
      if (stopping) void part.stop(STOP_MIN_MS)
      else parts.push({ name, part })
    },
    stop: (deadlineMs) => (stopping ??= stopAll(deadlineMs)),
  }
}

const STOP_MIN_MS = 1_000

export interface LoopOptions {
  name: string
  log: Log
  /** Where figures of it are told. */
  loops?: LoopMetrics | undefined
  /** How long an idle loop waits; what is written without a wake-up is found this late at most. */
  pollMs: number
  /**
   * One pass over the work that is due. `true`: there may be more, come again at once.
   * The signal aborts when the deadline of a stop has passed: give up what can be given up.
   */
  pass(signal: AbortSignal): Promise<boolean>
}

export interface Loop extends Running {
  /** There is work: pass now, or once more after the pass under way. */
  wake(): void
}

/** Passes over work for ever, one pass at a time. A failed pass is logged, and the loop goes on after a pause. */
export function runLoop(options: LoopOptions): Loop {
  const { name, log, loops, pollMs, pass } = options
  const stopping = new AbortController()
  const givingUp = new AbortController()
  let woken = false
  let interruptWait = () => {}

  async function run(): Promise<void> {
    let failures = 0
    loops?.started(name, pollMs)
    while (!stopping.signal.aborted) {
      woken = false
      try {
        const more = await pass(givingUp.signal)
        failures = 0
        loops?.passed(name)
        if (!more && !woken) await wait(pollMs, true)
      } catch (error) {
        failures += 1
        loops?.failed(name, failures)
        const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS)
        log.error({ err: error, loop: name, failures, pauseMs }, 'a pass failed; the loop goes on')
        // A wake-up does not shorten this pause: while the database is away, every request would be one.
        await wait(pauseMs, false)
      }
    }
  }

  async function wait(durationMs: number, wakes: boolean): Promise<void> {
    const waiting = new AbortController()
    interruptWait = () => waiting.abort()
    const signal = AbortSignal.any(wakes ? [stopping.signal, waiting.signal] : [stopping.signal])
    await delay(durationMs, undefined, { signal }).catch(() => {})
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
      log.warn({ loop: name, deadlineMs }, 'a pass did not end in time and is given up')
      givingUp.abort()
    },
  }
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** Whether the promise settled in time. */
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

/** The gateway cannot start, and whoever starts it can change that: the message is a sentence to print without a stack. */
export class StartRefused extends Error {
  override readonly name: string = 'StartRefused'
}
