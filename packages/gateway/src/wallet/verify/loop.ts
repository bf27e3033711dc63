import sql from 'sql-template-tag'
import { createAlert } from '../../alerts/alerts.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { type Running, runLoop } from '../../lib/process/lifecycle.ts'
import type { Log } from '../../lib/telemetry/log.ts'
import type { LoopMetrics } from '../../lib/telemetry/metrics.ts'
import { type LedgerCounts, verifyLedger } from './verify.ts'

export interface LedgerLoopDeps {
  db: Db
  ids: Ids
  log: Log
  loops?: LoopMetrics
}

const POLL_MS = 10 * 60_000

/** Checks the whole ledger once a day, on one node. */
export function ledgerLoop(deps: LedgerLoopDeps): Running {
  return runLoop({
    name: 'ledger',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass(signal) {
      await checkToday(deps, signal)
      return false
    },
  })
}

/** When little is sold. Later in the day a check that was missed is made at once, and the very first at any hour. */
const FIRST_HOUR_UTC = 3

/** Faults that are kept with the check; `ledger verify` tells all. */
const FAULTS_KEPT = 20

/** @returns what the check found; undefined when today's is made, or another node is at it */
export async function checkToday(deps: LedgerLoopDeps, signal?: AbortSignal): Promise<LedgerCounts | undefined> {
  const day = await claim(deps.db)
  if (day === undefined) return undefined
  const startedAt = performance.now()
  const firstFaults: string[] = []
  try {
    const counts = await verifyLedger(deps.db, {
      ...(signal ? { signal } : {}),
      onFault(fault) {
        if (firstFaults.length < FAULTS_KEPT) firstFaults.push(`Tenant ${fault.tenantId}: ${fault.sentence}`)
      },
    })
    await finish(deps, day, counts, firstFaults)
    const durationMs = Math.round(performance.now() - startedAt)
    deps.log[counts.faults > 0n ? 'error' : 'info']({ ...numbers(counts), firstFaults, durationMs }, 'ledger checked')
    return counts
  } catch (error) {
    // Somebody else may try at once: this node is stopping, or lost its database.
    await deps.db
      .query(sql`delete from ledger_checks where checked_on = ${day} and finished_at is null`)
      .catch(() => {})
    throw error
  }
}

/** The day's row is the claim. One whose node died is taken over after six hours, longer than any check takes. */
async function claim(db: Db): Promise<string | undefined> {
  const [row] = await db.query<{ checkedOn: string }>(sql`
    insert into ledger_checks (checked_on, started_at)
    select (now() at time zone 'utc')::date, now()
    where extract(hour from now() at time zone 'utc') >= ${FIRST_HOUR_UTC}
       or not exists (select from ledger_checks where finished_at is not null)
    on conflict (checked_on) do update set started_at = excluded.started_at
      where ledger_checks.finished_at is null and ledger_checks.started_at < now() - interval '6 hours'
    returning checked_on`)
  return row?.checkedOn
}

async function finish(deps: LedgerLoopDeps, day: string, counts: LedgerCounts, firstFaults: string[]): Promise<void> {
  await deps.db.tx(async (tx) => {
    tx.send(sql`
      update ledger_checks
      set finished_at = clock_timestamp(), tenants = ${counts.tenants}, transfers = ${counts.transfers},
          orders = ${counts.orders}, faults = ${counts.faults}, first_faults = ${JSON.stringify(firstFaults)}
      where checked_on = ${day}`)
    if (counts.faults === 0n) return
    createAlert(tx, deps.ids, {
      tenantId: null,
      kind: 'LEDGER_FAULT',
      audience: 'OPERATOR',
      message: `The daily check of the ledger found faults (${counts.faults}). The first: ${firstFaults[0]} Run “admin ledger verify” for all.`,
      data: { ...numbers(counts), firstFaults },
    })
  })
}

function numbers(counts: LedgerCounts) {
  return {
    tenants: Number(counts.tenants),
    transfers: Number(counts.transfers),
    orders: Number(counts.orders),
    faults: Number(counts.faults),
  }
}

/** The latest check that was finished, for metrics and the console. */
export interface LedgerState {
  /** UTC day, as `2026-11-21`. */
  checkedOn: string
  finishedAt: Date
  tenants: bigint
  transfers: bigint
  orders: bigint
  faults: bigint
  /** Sentences. */
  firstFaults: string[]
}

/** @returns undefined before the first check */
export async function readLedgerState(db: Pick<Db, 'query'>): Promise<LedgerState | undefined> {
  const [row] = await db.query<StateRow>(sql`
    select checked_on, finished_at, tenants, transfers, orders, faults, first_faults from ledger_checks
    where finished_at is not null order by checked_on desc limit 1`)
  if (!row) return undefined
  const { checkedOn, finishedAt, firstFaults, ...counts } = row
  return { checkedOn, finishedAt, ...counts, firstFaults }
}

interface StateRow extends LedgerCounts {
  checkedOn: string
  finishedAt: Date
  firstFaults: string[]
}
