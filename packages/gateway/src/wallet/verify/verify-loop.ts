import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { type LedgerCounts, verifyLedger } from './verify-ledger.ts'

export interface LedgerLoopDeps extends LoopDeps {
  db: Db
  ids: Ids
}

const POLL_MS = 10 * 60_000

/** Checks the whole ledger once a day, on one node. */
export function ledgerLoop(deps: LedgerLoopDeps): Running {
  return runLoop(deps, 'ledger', POLL_MS, (signal) => checkToday(deps, signal))
}

/** An hour with few sales. A missed check runs as soon as possible later that day. The very first check runs at any hour. */
const FIRST_HOUR_UTC = 3

/** The number of faults stored with the check; `ledger verify` lists all of them. */
const FAULTS_STORED_MAX = 20

/** @returns the counts; undefined if today's check is finished, or running on another node */
export async function checkToday(deps: LedgerLoopDeps, signal?: AbortSignal): Promise<LedgerCounts | undefined> {
  const day = await claim(deps.db)
  if (day === undefined) return undefined
  const startedAt = performance.now()
  const firstFaults: string[] = []
  try {
    const counts = await verifyLedger(deps.db, {
      ...(signal ? { signal } : {}),
      onFault(fault) {
        if (firstFaults.length < FAULTS_STORED_MAX) firstFaults.push(`Tenant ${fault.tenantId}: ${fault.message}`)
      },
    })
    await saveCheck(deps, day, counts, firstFaults)
    const durationMs = Math.round(performance.now() - startedAt)
    deps.log[counts.faults > 0n ? 'error' : 'info'](
      { ...numbers(counts), firstFaults, durationMs },
      'checked the ledger',
    )
    return counts
  } catch (error) {
    // Releases the claim for another node to check: this node is stopping, or has lost its database.
    await deps.db
      .query(sql`delete from ledger_checks where checked_on = ${day} and finished_at is null`)
      .catch(() => {})
    throw error
  }
}

/**
 * Claims today's check through its row. A dead node's claim is taken over after six hours, which is longer than any check.
 */
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

async function saveCheck(
  deps: LedgerLoopDeps,
  day: string,
  counts: LedgerCounts,
  firstFaults: string[],
): Promise<void> {
  await deps.db.tx(async (tx) => {
    tx.send(sql`
      update ledger_checks
      set finished_at = clock_timestamp(), tenants = ${counts.tenants}, transfers = ${counts.transfers},
          orders = ${counts.orders}, faults = ${counts.faults}, first_faults = ${JSON.stringify(firstFaults)}
      where checked_on = ${day}`)
    if (counts.faults === 0n) return
    createAlert(tx, deps.ids, {
      kind: 'LEDGER_FAULT',
      message: `The daily check of the ledger found faults (${counts.faults}). The first: ${firstFaults[0]} Ask somebody with access to the server to list all of them with the command ledger verify, and do not change any wallet until they are explained.`,
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

export interface LedgerCheck extends LedgerCounts {
  /** UTC day, as `2026-11-21`. */
  checkedOn: string
  finishedAt: Date
  /** Messages of the first faults. */
  firstFaults: string[]
}

/** The latest completed check, for metrics and the console. @returns undefined before the first one */
export async function findLatestLedgerCheck(db: Pick<Db, 'query'>): Promise<LedgerCheck | undefined> {
  const [row] = await db.query<LedgerCheck>(sql`
    select checked_on, finished_at, tenants, transfers, orders, faults, first_faults from ledger_checks
    where finished_at is not null order by checked_on desc limit 1`)
  return row
}
