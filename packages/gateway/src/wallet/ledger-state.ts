import sql from 'sql-template-tag'
import type { Db } from '../lib/postgres/db.ts'
import type { LedgerCounts } from './verify.ts'

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
