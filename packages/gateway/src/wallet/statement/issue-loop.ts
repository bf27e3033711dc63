import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import sql, { raw } from 'sql-template-tag'
import { SYSTEM } from '#platform/audit/audit.ts'
import { isInRecovery } from '#platform/held-tenants.ts'
import { issueStatement } from './issue-statement.ts'
import { getOperatorDetails } from './operator-details.ts'

export interface StatementLoopDeps extends LoopDeps {
  db: Db
  ids: Ids
  /** How long a statement waits for the checkpoint of its month, after the month. Default: an hour. Tests pass their own. */
  checkpointWaitMs?: number
}

const POLL_MS = 60_000

/**
 * Issues all dealers' statements for each month that has ended. Every node runs it: the wallet's lock and the statement's
 * key decide which node issues it. Once none is due, a node looks again on the next UTC day.
 */
export function statementLoop(deps: StatementLoopDeps): Running {
  let completeOn: string | undefined
  return runLoop(deps, 'statements', POLL_MS, async (signal) => {
    const today = await getToday(deps.db)
    if (completeOn !== today && (await issueDueStatements(deps, signal)).isComplete) completeOn = today
  })
}

/**
 * Issues every statement that is due: for each month of each dealer's account that has ended, oldest first. A statement
 * that cannot be issued is logged, and the others are still issued.
 * @returns how many this call issued, and whether none was left; nothing is issued until the operator has a legal name
 */
export async function issueDueStatements(
  deps: StatementLoopDeps,
  signal?: AbortSignal,
): Promise<{ issued: number; isComplete: boolean }> {
  const result = { issued: 0, isComplete: true }
  if ((await getOperatorDetails(deps.db)).legalName === null) return { ...result, isComplete: false }
  for (let after: DueStatement | undefined; ; ) {
    const due = await findDue(deps.db, after, deps.checkpointWaitMs)
    for (const { tenantId, month, isCheckpointDue } of due) {
      if (signal?.aborted) return { ...result, isComplete: false }
      if (isCheckpointDue) {
        result.isComplete = false
        continue
      }
      try {
        const { isNew } = await issueStatement(deps, tenantId, month, SYSTEM)
        if (isNew) result.issued += 1
      } catch (error) {
        result.isComplete = false
        deps.log.error({ err: error, tenantId, month }, 'a statement could not be issued and will be tried again')
      }
    }
    after = due.at(-1)
    if (due.length < PER_PAGE) break
  }
  if (result.issued > 0) deps.log.info({ issued: result.issued }, 'statements were issued')
  return result
}

interface DueStatement {
  month: string
  tenantId: string
  /** The month's checkpoint, which the statement shows, is made within minutes. */
  isCheckpointDue: boolean
}

/** A statement does not wait longer for the checkpoint of a ledger that cannot be hashed. */
const CHECKPOINT_WAIT_MS = 3_600_000

const PER_PAGE = 200

/**
 * The months that have ended and have no statement, from each account's first month on. Reads only the keys of issued
 * statements.
 */
export function findDue(
  db: Db,
  after: DueStatement | undefined,
  checkpointWaitMs = CHECKPOINT_WAIT_MS,
): Promise<DueStatement[]> {
  return db.query<DueStatement>(sql`
    with months as (
      select to_char(first, 'YYYY-MM') as month, (first + interval '1 month') at time zone 'utc' as ends_at
      from (select date_trunc('month', min(created_at) at time zone 'utc') as began,
                   date_trunc('month', clock_timestamp() at time zone 'utc') as current from tenants) as bounds
      cross join lateral generate_series(began, current - interval '1 month', interval '1 month') as first
    )
    select m.month, t.tenant_id,
           m.ends_at > clock_timestamp() - ${checkpointWaitMs} * interval '1 ms'
             and exists (select from wallets w left join ledger_trees l using (tenant_id)
                         where w.tenant_id = t.tenant_id and w.version > 0
                           and (l.closed_month >= m.month) is not true) as is_checkpoint_due
    from months m join tenants t on t.created_at < m.ends_at
    where (m.month, t.tenant_id) > (${after?.month ?? ''}, ${after?.tenantId ?? '00000000-0000-0000-0000-000000000000'}::uuid)
      and not exists (select from issued_statements s where s.tenant_id = t.tenant_id and s.month = m.month)
      and not ${raw(isInRecovery('t.tenant_id'))}
    order by m.month, t.tenant_id limit ${PER_PAGE}`)
}

async function getToday(db: Db): Promise<string> {
  const [row] = await db.query<{ today: string }>(
    sql`select (clock_timestamp() at time zone 'utc')::date::text as today`,
  )
  return row!.today
}
