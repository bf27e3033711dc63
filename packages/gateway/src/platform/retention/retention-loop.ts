import type { Clock, DatabaseClock } from '@dealer-esim/lib/clock.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { dropPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { type Loop, type LoopDeps, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { Counter, type Registry } from '@platformatic/prom-client'
import type { Config } from '../config/config.ts'
import { isHeld } from '../held-tenants.ts'
import { ageRequestIdSlots, dropOldRequestIdSlots } from './request-id-slots.ts'
import { AGED_BY_CLOCK, DELETED, type DeletedTable, maintainPartitions, REQUEST_IDS } from './retention-table.ts'
import { createClockReader } from './steady-clock.ts'

export interface RetentionDeps extends LoopDeps {
  db: Db
  config: Pick<Config, 'travellerDays'>
  clock: Pick<Clock, 'monotonic'>
  databaseClock: DatabaseClock
  metrics: Registry
}

const POLL_MS = 10 * 60_000

/**
 * Enforces the retention table: creates partitions in advance, drops old ones whole, and deletes rows step by step. Except
 * for RequestIDs, data is deleted only while the database's clock runs steadily (steady-clock.ts).
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
  return runLoop(deps, 'retention', POLL_MS, async () => {
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
  })
}

/**
 * Deletes one step's rows from every table. A failure in one table does not stop the others; the first failure is thrown at
 * the end.
 */
export async function enforceRetention(deps: Pick<RetentionDeps, 'db' | 'config' | 'databaseClock'>): Promise<Step[]> {
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
  try {
    steps.push({ table: 'esim_sends', ...(await forgetTravellers(deps, now)) })
  } catch (failure) {
    failures.push(failure)
  }
  if (failures.length > 0) throw failures[0]
  return steps
}

interface Step {
  table: string
  rows: number
  more: boolean
}

/**
 * Drops the partitions that are past their retention. The caller must have reason to trust the clock.
 * @returns their names
 */
export function dropPastPartitions(db: Db): Promise<string[]> {
  return dropPartitions(db, AGED_BY_CLOCK)
}

/** The number of rows that a statement deletes: few enough to hold its locks for only a few milliseconds. */
const STEP_MAX = 1_000
const DAY_MS = 86_400_000

/**
 * Deletes up to STEP_MAX rows past the table's retention, of one tenant if the table belongs to tenants. Locks the rows
 * that it deletes; several nodes may run it concurrently.
 */
async function deleteOld(db: Db, table: DeletedTable, now: Date): Promise<{ rows: number; more: boolean }> {
  const before = new Date(now.getTime() - table.keepDays * DAY_MS)
  const cutoff = table.age === 'uuid' ? firstUuidAt(before.getTime()) : before
  const { table: name, column } = table
  if (!table.ofTenant) {
    const rows = await deleteStep(db, name, `${column} < $1`, [cutoff])
    return { rows, more: rows === STEP_MAX }
  }
  const [oldest] = await db.query<{ tenantId: string }>({
    text: `select tenant_id from ${name} where ${column} < $1 and not ${isHeld(`${name}.tenant_id`)} order by ${column} limit 1`,
    values: [cutoff],
  })
  if (!oldest) return { rows: 0, more: false }
  const rows = await deleteStep(db, name, `${column} < $1 and tenant_id = $2`, [cutoff, oldest.tenantId])
  return { rows, more: rows > 0 } // other tenants may have old rows
}

/**
 * Deletes names and addresses of one dealer's travellers, in one step. The rows stay: a transactionId counts forever. The text of
 * an e-mail that a test twin kept goes, too.
 */
async function forgetTravellers(
  { db, config }: Pick<RetentionDeps, 'db' | 'config'>,
  now: Date,
): Promise<{ rows: number; more: boolean }> {
  const known = 'traveller is not null and created_at < $1'
  const before = new Date(now.getTime() - config.travellerDays * DAY_MS)
  const [oldest] = await db.query<{ tenantId: string }>({
    text: `select tenant_id from esim_sends where ${known} and not ${isHeld('esim_sends.tenant_id')} order by created_at limit 1`,
    values: [before],
  })
  if (!oldest) return { rows: 0, more: false }
  const rows = await db.query({
    text: `with forgotten as (
             update esim_sends set traveller = null, recipient_hash = null
             where ${known} and tenant_id = $2 and send_id = any (array(
               select send_id from esim_sends where ${known} and tenant_id = $2 limit ${STEP_MAX}))
             returning tenant_id, send_id),
           emptied as (
             update mails set content = null from forgotten
             where mails.tenant_id = $2 and mails.tenant_id = forgotten.tenant_id and mails.mail_id = forgotten.send_id
               and mails.sent_at is not null)
           select from forgotten`,
    values: [before, oldest.tenantId],
  })
  return { rows: rows.length, more: rows.length > 0 } // others may have old rows
}

async function deleteStep(db: Db, table: string, old: string, values: unknown[]): Promise<number> {
  const rows = await db.query({
    text: `delete from ${table} where ${old} and ctid = any (array(select ctid from ${table} where ${old} limit ${STEP_MAX}))
           returning 1`,
    values,
  })
  return rows.length
}
