import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import sql, { raw } from 'sql-template-tag'
import { isMoving } from '#platform/held-tenants.ts'
import { runJob } from '#platform/jobs.ts'
import { firstVersionAt } from '../statement/statement-month.ts'
import { type CheckpointDeps, closeMonth, makeCheckpoint } from './checkpoints.ts'
import { type Growth, growTree, growTrees, LEAVES_MAX } from './grow-tree.ts'
import { forgetOldKeys } from './ledger-keys.ts'

export type BooksDeps = CheckpointDeps & LoopDeps

/** The tree lags the balance by about this long. */
const POLL_MS = 3_000
/** Wallets are read this often anyway: one may have failed, or have been moving, in the last pass. */
const READ_EVERY_MS = 30_000
const CHECKPOINTS_EVERY_MS = 60_000
const TENANTS_PER_PAGE = 500

/**
 * Keeps the books that dealers can check: adds committed entries to each wallet's tree, behind the order path, and makes the
 * checkpoints that are due. Old ledgers get their tree in the same way. One node at a time grows trees.
 */
export function booksLoop(deps: BooksDeps): Running {
  const growChanged = createTreeGrower(deps)
  let checkpointsAt = 0
  return runLoop(deps, 'books', POLL_MS, async (signal) => {
    const more = await growChanged(signal)
    if (performance.now() < checkpointsAt || signal.aborted) return more
    await makeDueCheckpoints(deps, signal)
    await forgetOldKeys(deps.db)
    checkpointsAt = performance.now() + CHECKPOINTS_EVERY_MS
    return more
  })
}

/**
 * A pass of growAllTrees that reads no wallet while no entry is posted. The server counts the rows inserted into `transfers`, and reports
 * them at most ten seconds late; where it does not count (`track_counts = off`, a table on other nodes), every pass reads the wallets.
 * @returns a function that returns true if a wallet has more
 */
export function createTreeGrower(deps: Pick<BooksDeps, 'db' | 'log'>): (signal?: AbortSignal) => Promise<boolean> {
  let [seen, readAt] = [0n, Number.NEGATIVE_INFINITY]
  return async (signal) => {
    // Counted before the wallets are read, so an entry that is posted during the pass is found by the next one.
    const [transfers] = await deps.db.query<{ inserted: bigint }>({
      text: `select pg_stat_get_tuples_inserted('transfers'::regclass) as inserted`,
    })
    const { inserted } = transfers!
    if (inserted > 0n && inserted === seen && performance.now() < readAt + READ_EVERY_MS) return false
    const hasMore = await growAllTrees(deps, signal)
    ;[seen, readAt] = [hasMore ? 0n : inserted, performance.now()]
    return hasMore
  }
}

/**
 * Adds the next entries of every wallet that has new ones to its tree, several wallets in a transaction. A wallet that cannot be read
 * is logged, and the others follow.
 * @returns true if a wallet has more
 */
export async function growAllTrees(deps: Pick<BooksDeps, 'db' | 'log'>, signal?: AbortSignal): Promise<boolean> {
  let hasMore = false
  for await (const tenantIds of groupsBehind(deps.db)) {
    if (signal?.aborted) return false
    const grown = await growGroup(deps, tenantIds)
    if (grown === undefined) return false
    hasMore ||= grown.more
    await failpoint('books.after-growth')
  }
  return hasMore
}

/** Groups of wallets with new entries: as many as one transaction takes, or one wallet. */
async function* groupsBehind(db: Pick<Db, 'query'>): AsyncGenerator<string[]> {
  let [group, entries] = [[] as string[], 0]
  for await (const { tenantId, behind } of eachTenant<{ tenantId: string; behind: bigint }>(
    db,
    (after) => sql`
      select w.tenant_id, w.version - coalesce(t.size, 0) as behind from wallets w left join ledger_trees t using (tenant_id)
      where w.version > coalesce(t.size, 0) and w.tenant_id > ${after} and not ${raw(isMoving('w.tenant_id'))}
      order by w.tenant_id limit ${TENANTS_PER_PAGE}`,
  )) {
    const own = Math.min(Number(behind), LEAVES_MAX)
    if (group.length > 0 && entries + own > LEAVES_MAX) {
      yield group
      ;[group, entries] = [[], 0]
    }
    group.push(tenantId)
    entries += own
  }
  if (group.length > 0) yield group
}

/** Grows the trees of a group together. If one stops the others, each is grown alone, and those that fail are logged. */
async function growGroup({ db, log }: Pick<BooksDeps, 'db' | 'log'>, tenantIds: string[]): Promise<Growth> {
  if (tenantIds.length > 1) {
    try {
      return await growTrees(db, tenantIds)
    } catch {
      // The wallet that fails is logged below.
    }
  }
  const all = { added: 0, more: false }
  for (const tenantId of tenantIds) {
    let grown: Growth = all
    await runJob(log, 'books', { tenantId }, async () => {
      grown = await growTree(db, tenantId)
    })
    if (grown === undefined) return undefined
    all.more ||= grown.more
  }
  return all
}

/**
 * Makes a checkpoint for each tenant that has new entries and none within the hour, and one of each month that has ended.
 * Without a public URL, which a local gateway learns when it listens, trees have no name yet.
 */
export async function makeDueCheckpoints(deps: BooksDeps, signal?: AbortSignal): Promise<void> {
  if (deps.links.publicUrl === '') return
  for await (const { tenantId } of eachTenant(
    deps.db,
    (after) => sql`
      select tenant_id from ledger_trees t
      where size > coalesce(checkpoint_size, 0) and tenant_id > ${after} and not ${raw(isMoving('t.tenant_id'))}
        and (checkpoint_at between clock_timestamp() - interval '1 hour' and clock_timestamp()) is not true
      order by tenant_id limit ${TENANTS_PER_PAGE}`,
  )) {
    if (signal?.aborted) return
    await runJob(deps.log, 'checkpoint', { tenantId }, () => makeCheckpoint(deps, tenantId))
    await failpoint('books.after-checkpoint')
  }
  await closeMonths(deps, signal)
}

/**
 * A transaction that began before midnight may commit afterwards, with its earlier time. By now none of them is still open:
 * PostgreSQL ends idle transactions after a minute at most.
 */
const MONTH_ENDS_AFTER = "interval '5 minutes'"

/** Makes the last checkpoint of the month that ended last, for each tenant whose tree has all of its entries. */
async function closeMonths(deps: BooksDeps, signal?: AbortSignal): Promise<void> {
  const [ended] = await deps.db.query<{ month: string; endedAt: Date }>(sql`
    select to_char(ended_at - interval '1 day', 'YYYY-MM') as month, ended_at at time zone 'UTC' as ended_at
    from (select date_trunc('month', clock_timestamp() at time zone 'UTC' - ${raw(MONTH_ENDS_AFTER)}) as ended_at) as last`)
  const { month, endedAt } = ended!
  for await (const { tenantId } of eachTenant(
    deps.db,
    (after) => sql`
      select tenant_id from ledger_trees t
      where closed_month is distinct from ${month} and tenant_id > ${after} and not ${raw(isMoving('t.tenant_id'))}
      order by tenant_id limit ${TENANTS_PER_PAGE}`,
  )) {
    if (signal?.aborted) return
    await runJob(deps.log, 'month checkpoint', { tenantId }, async () => {
      const [found] = await deps.db.query<{ version: bigint; size: bigint }>(sql`
        select w.version, t.size from ledger_trees t join wallets w using (tenant_id) where tenant_id = ${tenantId}`)
      const { version, size } = found!
      const last = (await firstVersionAt(deps.db, tenantId, version, endedAt)) - 1n
      if (last <= size) await closeMonth(deps, tenantId, month, Number(last))
    })
  }
}

/** The tenants of a query, page by page. `query` selects those after a tenant, in order, at most TENANTS_PER_PAGE. */
async function* eachTenant<Row extends { tenantId: string }>(
  db: Pick<Db, 'query'>,
  query: (after: string) => { text: string; values: unknown[] },
): AsyncGenerator<Row> {
  let after = LOWEST_UUID
  for (;;) {
    const rows = await db.query<Row>(query(after))
    yield* rows
    if (rows.length < TENANTS_PER_PAGE) return
    after = rows.at(-1)!.tenantId
  }
}
