import { Counter, type Registry } from '@platformatic/prom-client'
import type { DatabaseClock } from '../lib/clock.ts'
import type { Db } from '../lib/postgres/db.ts'
import { createPartitions, dropPartitions } from '../lib/postgres/partitions.ts'
import { type Loop, runLoop } from '../lib/process/lifecycle.ts'
import type { Log } from '../lib/telemetry/log.ts'
import type { LoopMetrics } from '../lib/telemetry/metrics.ts'
import { deleteOld } from './delete-old.ts'
import { watchClock } from './steady-clock.ts'
import { DELETED, PARTITIONED } from './table.ts'

export interface RetentionDeps {
  db: Db
  databaseClock: DatabaseClock
  log: Log
  metrics: Registry
  loops?: LoopMetrics
}

const POLL_MS = 10 * 60_000

/**
 * Enforces the retention table: partitions are made ahead and dropped whole, rows deleted step by step; what is deleted,
 * only while the database's clock runs steadily (steady-clock.ts).
 */
export function retentionLoop(deps: RetentionDeps): Loop {
  const deleted = new Counter({
    name: 'dealer_esim_retention_deleted_total',
    help: 'Rows that were deleted because of their age',
    labelNames: ['table'],
    registers: [deps.metrics],
  })
  return runLoop({
    name: 'retention',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass() {
      await maintainPartitions(deps.db)
      const { isSteady, jumpedFrom } = await watchClock(deps.db)
      if (jumpedFrom)
        deps.log.warn({ jumpedFrom }, 'the clock of the database has jumped: nothing is dropped for a day')
      if (!isSteady) return false
      const dropped = await dropPastPartitions(deps.db)
      if (dropped.length > 0) deps.log.info({ dropped }, 'partitions past keeping were dropped')
      const steps = await enforceRetention(deps)
      for (const { table, rows } of steps) deleted.inc({ table }, rows)
      return steps.some(({ more }) => more)
    },
  })
}

/** One step of every table. A table that fails does not keep the others; the first failure is thrown last. */
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

/** Makes the partitions that are needed soon, of every partitioned table. @returns their names */
export function maintainPartitions(db: Db): Promise<string[]> {
  return createPartitions(db, PARTITIONED)
}

/** Drops partitions whose retention has ended. Callers must have checked the clock. @returns their names */
export function dropPastPartitions(db: Db): Promise<string[]> {
  return dropPartitions(db, PARTITIONED)
}
