import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '#telemetry/log.ts'

/** Under npm, Ctrl-C reaches us twice: from the terminal and from npm. Signals this close together count as one. */
const REPEAT_MS = 1_000

/** Extra time for work that the stop deadline does not cover, such as the database's last checkpoint. */
const GRACE_MS = 10_000

export interface StopOptions {
  log: Log
  deadlineMs: number
  /** Called at the signal. @returns how long to continue before `stop`, so that proxies notice first */
  announce(): number
  stop(deadlineMs: number): Promise<void>
}

/**
 * Stops the process gracefully on the first SIGTERM, SIGINT or SIGHUP; a later signal ends it immediately. An uncaught
 * exception also stops it, without delay and with exit code 1, because the state of the process cannot be trusted.
 */
export function stopOnSignals({ log, deadlineMs, announce, stop }: StopOptions): void {
  let stopRequestedAt: number | undefined

  async function stopAndExit(code: number, delayMs: number): Promise<void> {
    const overdue = setTimeout(
      () => {
        log.error({ deadlineMs }, 'not stopped in time; exiting now')
        process.exit(1)
      },
      delayMs + deadlineMs + GRACE_MS,
    )
    if (delayMs > 0) await delay(delayMs)
    await stop(deadlineMs)
    clearTimeout(overdue)
    process.exit(code)
  }

  function onSignal(signal: NodeJS.Signals): void {
    const now = performance.now()
    if (stopRequestedAt === undefined) {
      stopRequestedAt = now
      const delayMs = announce()
      log.info({ signal, delayMs }, 'stopping')
      void stopAndExit(0, delayMs)
    } else if (now - stopRequestedAt > REPEAT_MS) {
      log.warn({ signal }, 'second signal; exiting now')
      process.exit(1)
    }
  }

  function onUncaught(error: unknown): void {
    log.fatal({ err: error }, 'uncaught exception; stopping')
    if (stopRequestedAt !== undefined) return
    stopRequestedAt = performance.now()
    announce()
    void stopAndExit(1, 0)
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
}
