/**
 * A simulator's time: the machine's clock plus what `advance` added. Tasks run at their time, or immediately when the clock
 * is advanced past it, so that tests of long delays do not wait.
 */
export class Clock {
  #offsetMs = 0
  #tasks: Task[] = []
  #timer: NodeJS.Timeout | undefined

  /** Milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#offsetMs
  }

  /** Runs the task once, `delayMs` from now; immediately if that is not positive. */
  after(delayMs: number, run: () => void): void {
    if (delayMs <= 0) {
      run()
      return
    }
    this.#tasks.push({ atMs: this.now() + delayMs, run })
    this.#tasks.sort((left, right) => left.atMs - right.atMs)
    this.#setTimer()
  }

  advance(ms: number): void {
    this.#offsetMs += ms
    this.#runDue()
  }

  /** Drops the tasks that have not run. */
  close(): void {
    clearTimeout(this.#timer)
    this.#tasks = []
  }

  #runDue() {
    while (this.#tasks[0] && this.#tasks[0].atMs <= this.now()) this.#tasks.shift()!.run()
    this.#setTimer()
  }

  #setTimer() {
    clearTimeout(this.#timer)
    const next = this.#tasks[0]
    if (!next) return
    this.#timer = setTimeout(() => this.#runDue(), Math.min(Math.max(next.atMs - this.now(), 1), TIMER_MS_MAX))
    this.#timer.unref()
  }
}

interface Task {
  atMs: number
  run(): void
}

/** setTimeout fires immediately beyond 2^31 - 1. */
const TIMER_MS_MAX = 2 ** 31 - 1
