import type { Logger } from 'pino'

/* This file does not load pino, because that takes time and admin commands do not need it. */

/** The part of a logger that modules use. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>

/** A log for commands, which print their own messages, and for tests. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} }

const REPORT_MS = 1_000

/** Counts events that may come by the thousand, and reports their number once a second. */
export function rateLimitedLog(report: (count: number) => void): () => void {
  let unreported = 0
  return () => {
    if (unreported++ > 0) return
    setTimeout(() => {
      report(unreported)
      unreported = 0
    }, REPORT_MS).unref()
  }
}
