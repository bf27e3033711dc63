import type { Log } from './log.ts'

/** For commands, which say what they have to say themselves, and for tests. Apart from log.ts: pino takes time to load. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} }
