import type { Log } from '../telemetry/log.ts'

/** Under npm, Ctrl-C reaches us twice: from the terminal and from npm. Signals this close together count as one. */
const REPEAT_MS = 1_000

/** Extra time for what the deadline of a stop does not bound, such as the database's last checkpoint. */
const GRACE_MS = 10_000

export interface StopOptions {
  log: Log
  deadlineMs: number
  stop(deadlineMs: number): Promise<void>
}

/**
 * Stops the process gracefully on the first SIGTERM, SIGINT or SIGHUP; a later signal ends it at once. An uncaught
 * exception also stops it, with exit code 1, because the state of the process cannot be trusted.
 */
export function stopOnSignals({ log, deadlineMs, stop }: StopOptions): void {
  let stopRequestedAt: number | undefined

  async function stopAndExit(code: number): Promise<void> {
    const overdue = setTimeout(() => {
      log.error({ deadlineMs }, 'not stopped in time; exiting now')
      process.exit(1)
    }, deadlineMs + GRACE_MS)
    await stop(deadlineMs)
    clearTimeout(overdue)
    process.exit(code)
  }

  function onSignal(signal: NodeJS.Signals): void {
    const now = performance.now()
    if (stopRequestedAt === undefined) {
      stopRequestedAt = now
      log.info({ signal }, 'stopping')
      void stopAndExit(0)
    } else if (now - stopRequestedAt > REPEAT_MS) {
      log.warn({ signal }, 'second signal; exiting now')
      process.exit(1)
    }
  }

  function onUncaught(error: unknown): void {
    log.fatal({ err: error }, 'uncaught exception; stopping')
    if (stopRequestedAt !== undefined) return
    stopRequestedAt = performance.now()
    void stopAndExit(1)
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)
}
