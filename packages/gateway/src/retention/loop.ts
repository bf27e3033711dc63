import { Counter, type Registry } from '@platformatic/prom-client'
import type { Clock, DatabaseClock } from '../lib/clock.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createPartitions, dropPartitions } from '../lib/postgres/partitions.ts'
import { type Loop, runLoop } from '../lib/process/lifecycle.ts'
import type { Log } from '../lib/telemetry/log.ts'
import type { LoopMetrics } from '../lib/telemetry/metrics.ts'
import { deleteOld } from './delete-old.ts'
import { ageRequestIdSlots, dropOldRequestIdSlots } from './request-id-slots.ts'
import { createClockReader } from './steady-clock.ts'
import { AGED_BY_CLOCK, DELETED, PARTITIONED, REQUEST_IDS } from './table.ts'

export interface RetentionDeps {
  db: Db
  clock: Pick<Clock, 'monotonic'>
  databaseClock: DatabaseClock
  log: Log
  metrics: Registry
  loops?: LoopMetrics
}

const POLL_MS = 10 * 60_000

/**
 * Enforces the retention table: creates partitions ahead of time, drops old ones whole, and deletes rows step by step.
 * Except for RequestIDs, data is deleted only while the database's clock runs steadily (steady-clock.ts).
 */
export function retentionLoop(deps: RetentionDeps): Loop {
  const { db, log } = deps
  const readClock = createClockReader(deps.clock)
  const deleted = new Counter({
    name: 'dealer_esim_retention_deleted_total',
    help: 'Rows that were deleted because of their age',
    labelNames: ['table'],
    registers: [deps.metrics],
  })
  return runLoop({
    name: 'retention',
    log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass() {
      await maintainPartitions(db)
      const { isSteady, jumpedFrom } = await db.tx(async (tx) => {
        const reading = await readClock(tx)
        ageRequestIdSlots(tx, reading.elapsedMs)
        return reading
      })
      if (jumpedFrom) log.warn({ jumpedFrom }, 'the clock of the database has jumped: nothing is deleted for a day')
      const dropped = await dropOldRequestIdSlots(db, REQUEST_IDS)
      if (isSteady) dropped.push(...(await dropPastPartitions(db)))
      if (dropped.length > 0) log.info({ dropped }, 'old partitions were dropped')
      if (!isSteady) return false
      const steps = await enforceRetention(deps)
      for (const { table, rows } of steps) deleted.inc({ table }, rows)
      return steps.some(({ more }) => more)
    },
  })
}

/** Deletes one step of every table. A table that fails does not stop the others; the first failure is thrown at the end. */
export async function enforceRetention(deps: Pick<RetentionDeps, 'db' | 'databaseClock'>): Promise<Step[]> {
  const now = new Date(deps.databaseClock.now())
  const steps: Step[] = []
  const failures: unknown[] = []
  for (const table of DELETED) {
    try {
      steps.push({ table: table.table, ...(await deleteOld(deps.db, table, now)) })
    } catch (failure) {
      failures.push(failure)
    }
  }
  if (failures.length > 0) throw failures[0]
  return steps
}

interface Step {
  table: string
  rows: number
  more: boolean
}

/** Creates the partitions that are needed soon, of every partitioned table. @returns their names */
export function maintainPartitions(db: Db): Promise<string[]> {
  return createPartitions(db, PARTITIONED)
}

/** Drops the partitions past their retention. The caller must have reason to trust the clock. @returns their names */
export function dropPastPartitions(db: Db): Promise<string[]> {
  return dropPartitions(db, AGED_BY_CLOCK)
}
