import type { Clock, DatabaseClock } from '@dealer-esim/lib/clock.ts'
import { isAhead, type TimesAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type Loop, type LoopDeps, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { Gauge, type Registry } from '@platformatic/prom-client'
import { MAILS } from '#alerts/mail/send-mail.ts'
import { ACTIONS } from '#esims/actions/action-loop.ts'
import { LEASE_MS } from '#fulfilment/order-lease.ts'
import { LONGEST_RETRY_MS, REVIEW_WAIT_MAX_MS, REVIEW_WAIT_MIN_MS } from '#fulfilment/outcomes/item-transition.ts'
import { WATCHED } from '#fulfilment/reconciliation/ask-watched.ts'
import { ORPHANS } from '#fulfilment/reconciliation/cancel-orphans.ts'
import { jobsAhead } from '#platform/jobs.ts'
import { SYNCS_AHEAD } from '#products/sync/sync-state.ts'
import { BALANCES_AHEAD } from '#suppliers/balance/balance-state.ts'
import { QUESTIONS_AHEAD } from '#suppliers/supplier-questions.ts'
import { DELIVERIES_AHEAD, QUEUE_LEASES_AHEAD } from '#webhooks/sending/due-tenants.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

/**
 * SQL: how long an order may wait. An order under review waits as long as its items have been open, but at most an hour;
 * any other order waits until an item is retried.
 */
const WAIT_MS = `
  case when order_status = 'UNDER_REVIEW'
       then least(${REVIEW_WAIT_MAX_MS},
                  greatest(${REVIEW_WAIT_MIN_MS}, extract(epoch from now() - created_at) * 1000))::float8
       else ${LONGEST_RETRY_MS} end`

/** Orders that wait longer than the longest retry interval. */
const ORDERS_AHEAD: TimesAhead = {
  table: 'orders',
  key: ['tenant_id', 'order_id'],
  isAhead: `due_at is not null and ${isAhead('due_at', WAIT_MS)}`,
  repair: 'due_at = now()',
}

/** Leases too far in the future, which claims ignore. */
const ORDER_LEASES_AHEAD: TimesAhead = {
  table: 'orders',
  key: ['tenant_id', 'order_id'],
  isAhead: `due_at is not null and ${isAhead('lease_until', String(LEASE_MS))}`,
}

/** The times by which work is claimed. docs/clocks.md also lists times that are only shown or compared. */
export const TIMES_AHEAD: readonly TimesAhead[] = [
  ORDERS_AHEAD,
  ORDER_LEASES_AHEAD,
  DELIVERIES_AHEAD,
  QUEUE_LEASES_AHEAD,
  jobsAhead(MAILS),
  jobsAhead(WATCHED),
  jobsAhead(ORPHANS),
  jobsAhead(ACTIONS),
  QUESTIONS_AHEAD,
  SYNCS_AHEAD,
  BALANCES_AHEAD,
  {
    table: 'webhook_replays',
    key: ['tenant_id', 'replay_id'],
    isAhead: `replay_state = 'RUNNING' and ${isAhead('stepped_at', '0')}`,
  },
]

export async function checkTimesAhead({ db }: DatabaseCheckInput, { ok, warning }: Findings): Promise<Finding[]> {
  const ahead = (await countTimesAhead(db, TIMES_AHEAD)).filter(({ count }) => count > 0)
  if (ahead.length === 0) return [ok('No work is waiting for a time that a wrong clock has written.')]
  const tables = ahead.map(({ table, count }) => `${table}: ${count}`).join(', ')
  return [
    warning(
      `Work is waiting for times too far in the future (${tables}): the database's clock was fast and was set back. A worker will make it due within a minute: make sure that one runs (--role worker or all).`,
    ),
  ]
}

interface TimesAheadDeps extends LoopDeps {
  db: Db
  clock: Clock
  databaseClock: Pick<DatabaseClock, 'now'>
  wake: Pick<Wakeups, 'wake'>
  metrics: Registry
}

/** How often this node checks whether the database's clock was set back. */
const POLL_MS = 1_000
/** How often the tables are searched if this node saw no step: another node may have written while this node was down. */
const SEARCH_EVERY_MS = 60_000
/**
 * How often, and for how long, the tables are searched after the clock was set back: nodes that have not noticed may still
 * write.
 */
const AFTER_STEP = { everyMs: 5_000, forMs: 30_000 }
/** A smaller difference may be a measurement error. */
const STEP_MIN_MS = 500

/**
 * Makes due any work that waits for a time written by a fast clock: immediately after the database's clock was set back,
 * and once a minute.
 */
export function timesAheadLoop(deps: TimesAheadDeps): Loop {
  const { db, clock, databaseClock, wake, log } = deps
  const gauge = new Gauge({
    name: 'dealer_esim_times_ahead',
    help: 'Rows that wait for a time which only a wrong clock can have written, counted up to 1000',
    labelNames: ['table'],
    registers: [deps.metrics],
  })
  let offsetMs = Number.NEGATIVE_INFINITY
  let steppedAt = Number.NEGATIVE_INFINITY
  let searchedAt = Number.NEGATIVE_INFINITY

  function isTimeToSearch(): boolean {
    const now = clock.monotonic()
    const seenOffsetMs = databaseClock.now() - now
    const wasSetBack = seenOffsetMs < offsetMs - STEP_MIN_MS
    offsetMs = seenOffsetMs
    if (wasSetBack) steppedAt = now
    const isRecent = now - steppedAt < AFTER_STEP.forMs
    return wasSetBack || now - searchedAt >= (isRecent ? AFTER_STEP.everyMs : SEARCH_EVERY_MS)
  }

  return runLoop(deps, 'times ahead', POLL_MS, async () => {
    if (!isTimeToSearch()) return false
    searchedAt = clock.monotonic()
    const counts = await countTimesAhead(db, TIMES_AHEAD)
    const tables = new Map<string, number>()
    for (const { table, count } of counts) tables.set(table, Math.max(count, tables.get(table) ?? 0))
    for (const [table, count] of tables) gauge.set({ table }, count)
    if (counts.every(({ count }) => count === 0)) return false
    log.warn({ tables: Object.fromEntries(tables) }, 'work waits for times that a wrong clock wrote: it is made due')
    await repairTimesAhead(db, TIMES_AHEAD)
    for (const topic of ['fulfilment', 'actions', 'webhooks'] as const) wake.wake(topic)
  })
}

const COUNTED_MAX = 1_000
/** Limits the size of one transaction. */
const REPAIRED_MAX = 1_000

/** Counts such rows, up to 1 000 per table. Takes no lock. */
export async function countTimesAhead(
  db: Pick<Db, 'query'>,
  tables: readonly TimesAhead[],
): Promise<{ table: string; count: number }[]> {
  const counts: { table: string; count: number }[] = []
  for (const { table, isAhead: condition } of tables) {
    const text = `select count(*)::int as count from (select from ${table} where ${condition} limit ${COUNTED_MAX}) ahead`
    const [row] = await db.query<{ count: number }>({ text })
    counts.push({ table, count: row!.count })
  }
  return counts
}

/** Makes such rows due now. Each statement locks up to 1 000 rows and skips locked ones. @returns the number of rows */
export async function repairTimesAhead(db: Pick<Db, 'query'>, tables: readonly TimesAhead[]): Promise<number> {
  let repaired = 0
  for (const { table, key, isAhead: condition, repair } of tables) {
    if (repair === undefined) continue
    const keys = key.join(', ')
    const text = `
      with ahead as (
        select ${keys} from ${table} where ${condition} limit ${REPAIRED_MAX} for no key update skip locked)
      update ${table} job set ${repair} from ahead
      where ${key.map((column) => `job.${column} = ahead.${column}`).join(' and ')}
      returning 1`
    for (let rows = REPAIRED_MAX; rows === REPAIRED_MAX; repaired += rows) rows = (await db.query({ text })).length
  }
  return repaired
}
