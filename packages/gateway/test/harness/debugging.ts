import { createLog } from '@dealer-esim/lib/telemetry/json-log.ts'
import { type Log, silentLog } from '@dealer-esim/lib/telemetry/log.ts'

/* Debugging switches for tests: contributing/debugging.md. */

/** TEST_LOG=debug, info, warn or sql: the log of testbeds and of gateways in separate processes, on standard error. */
export const TEST_LOG = process.env.TEST_LOG

/** TEST_LOG=sql: the test server logs each statement. */
export const logsStatements = TEST_LOG === 'sql'

/** TEST_KEEP=1: databases are kept until Enter is pressed. */
export const keepsDatabases = process.env.TEST_KEEP === '1'

/** TEST_INSPECT=9229: gateways in separate processes listen for an inspector, from this port on. */
export const inspectFrom = process.env.TEST_INSPECT === undefined ? undefined : Number(process.env.TEST_INSPECT)

export const testLog: Log =
  TEST_LOG === undefined
    ? silentLog
    : createLog(logsStatements ? 'debug' : TEST_LOG, { write: (line) => process.stderr.write(line) })
