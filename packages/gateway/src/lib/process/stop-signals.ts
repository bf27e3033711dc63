import type { Log } from '../telemetry/log.ts'

/** Ctrl-C reaches us twice under npm: from the terminal, and passed on by npm. Together they are one wish. */
const SAME_WISH_MS = 1_000

/** What the deadline of a stop does not bound, such as the database's last checkpoint. */
const GRACE_MS = 10_000

export interface StopOptions {
  log: Log
  deadlineMs: number
  stop(deadlineMs: number): Promise<void>
}

/**
 * Ends the process in an orderly way when it is asked to: the first SIGTERM, SIGINT or SIGHUP stops, a later one ends
 * it at once. A fault that nobody caught stops it too, with exit code 1: what follows it cannot be trusted.
 */
export function stopOnSignals({ log, deadlineMs, stop }: StopOptions): void {
  let askedAt: number | undefined

  async function leave(code: number): Promise<void> {
    const overdue = setTimeout(() => {
      log.error({ deadlineMs }, 'not stopped in time; ending at once')
      process.exit(1)
    }, deadlineMs + GRACE_MS)
    await stop(deadlineMs)
    clearTimeout(overdue)
    process.exit(code)
  }

  function onSignal(signal: NodeJS.Signals): void {
    const now = performance.now()
    if (askedAt === undefined) {
      askedAt = now
      log.info({ signal }, 'stopping')
      void leave(0)
    } else if (now - askedAt > SAME_WISH_MS) {
      log.warn({ signal }, 'asked again; ending at once')
      process.exit(1)
    }
  }

  function onFault(error: unknown): void {
    log.fatal({ err: error }, 'a fault that nobody caught; stopping')
    if (askedAt !== undefined) return
    askedAt = performance.now()
    void leave(1)
  }

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
  process.on('uncaughtException', onFault)
  process.on('unhandledRejection', onFault)
}
