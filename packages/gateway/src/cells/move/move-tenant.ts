import { createPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { By } from '#platform/audit/audit.ts'
import { PARTITIONED } from '#platform/retention/retention-table.ts'
import { bringLedgerKeys } from '#wallet/books/bring-keys.ts'
import type { KeyDeps } from '#wallet/books/ledger-keys.ts'
import { type DealerMove, inCell, type Move } from './cell-session.ts'
import { findObstacles, requireOneRelease } from './check-move.ts'
import { copyTables, describeMove, type Shapes } from './copy-rows.ts'
import { copyLateRequestIds, removeTenant } from './leftovers.ts'
import { installGuards, removeGuards } from './move-guard.ts'
import { auditInCell, auditMove, findMove, insertMove, openTarget, setState } from './move-state.ts'
import { findProvedBooks, type ProvedBooks } from './prove-books.ts'
import { type Switched, switchOver } from './switch-over.ts'

export interface MoveDeps extends Pick<KeyDeps, 'ids' | 'cipher'> {
  by: By
  /** Receives a line about each step. */
  progress(line: string): void
  /** Sends the requests of the dealer, or of its twin, to the target. Called as soon as the target serves them. */
  route(move: Move): Promise<void>
}

/** The report on a finished move. */
interface MoveReport extends Partial<Switched> {
  rows: number
  /** What was proved of the dealer's books; undefined: the old cell had not signed a checkpoint. */
  books?: ProvedBooks | undefined
}

/**
 * Moves a dealer and its test twin, or continues a move that was interrupted at any step (move-state.ts lists them). Both are
 * copied first. Then the dealer is switched over, which decides, and its twin immediately after it.
 * @throws Refusal that says what to do; unless the dealer was switched over before, nothing has then changed for it
 */
export async function moveTenant(deps: MoveDeps, move: DealerMove): Promise<MoveReport> {
  const report: MoveReport = { rows: 0 }
  const { twin } = move
  await begin(deps, move)
  const steps: Step[] = []
  for (const each of twin === undefined ? [move] : [move, twin]) {
    const { state } = (await findMove(each.source.db, each.tenantId))!
    if (state === 'DONE') continue
    const progress = (line: string) => deps.progress(each === twin ? `test twin: ${line}` : line)
    const isSwitched = state === 'SWITCHED'
    steps.push({ deps: { ...deps, progress }, move: each, shapes: await describeMove(each.source), isSwitched })
  }
  for (const step of steps) if (!step.isSwitched) report.rows += await copyAll(step)
  for (const step of steps) {
    const switched = await serveFromTarget(step)
    if (step.move === move) Object.assign(report, switched)
  }
  for (const step of steps.toReversed()) {
    const books = await finish(step)
    if (step.move === move) report.books = books
  }
  return report
}

/** What a tenant's move needs: the dealer's, or its twin's. */
interface Step {
  deps: MoveDeps
  move: Move
  shapes: Shapes
  isSwitched: boolean
}

/** Records the moves in the source unless an earlier command has. */
async function begin({ ids, by, progress }: MoveDeps, move: DealerMove): Promise<void> {
  const both = move.twin === undefined ? [move] : [move, move.twin]
  const known = await Promise.all(both.map(({ source, tenantId }) => findMove(source.db, tenantId)))
  const beginning = both.filter(({ moveId }, index) => known[index]?.moveId !== moveId)
  if (beginning.length === 0) return
  const obstacles = await findObstacles(move)
  if (obstacles.length > 0) throw new Refusal(409, 'CANNOT_MOVE', obstacles.join(' '))
  for (const each of beginning) {
    await inCell(each.source, each.tenantId, async (tx) => {
      tx.send({ text: `delete from tenant_moves where tenant_id = $1 and state = 'DONE'`, values: [each.tenantId] })
      insertMove(tx, each, 'OUT', by.actor)
      auditMove(tx, ids, each, by, 'tenant.move_out')
    })
    await failpoint('move.prepared')
  }
  progress(`checked: cell ${move.target.name} can take the dealer`)
}

/** Does everything that may take hours. The source serves the tenant as usual. @returns the number of rows */
async function copyAll({ deps, move, shapes }: Step): Promise<number> {
  const { by, progress } = deps
  const { source, target, tenantId, moveId } = move
  let copied = 0
  await requireOneRelease(move)
  if ((await findMove(target.db, tenantId))?.moveId !== moveId) {
    await removeTenant(target, tenantId) // an earlier move may have left rows there
    await target.db.tx(async (tx) => insertMove(tx, move, 'IN', by.actor))
  }
  await createPartitionsOf(move)
  await installGuards(target, tenantId, shapes.moved)
  await installGuards(source, tenantId, shapes.moved)
  await setState(move, 'COPYING')
  await failpoint('move.guarded')
  await copyTables(move, shapes, (table, rows) => {
    copied += rows
    if (rows > 0) progress(`copied ${table}: ${rows} rows`)
  })
  // Before the comparison, which verifies in both cells what the source has signed.
  await bringLedgerKeys(deps, source, target)
  await failpoint('move.copied')
  return copied
}

/** Closes the source and opens the target. */
async function serveFromTarget({ deps, move, shapes, isSwitched }: Step): Promise<Partial<Switched>> {
  let switched: Partial<Switched> = {}
  if (!isSwitched) {
    switched = await switchOver(deps, move, shapes)
    await failpoint('move.source-closed')
  }
  await openTarget(move.target, move)
  await failpoint('move.target-opened')
  deps.progress(`cell ${move.target.name} serves the dealer`)
  await deps.route(move)
  await failpoint('move.routed')
  return switched
}

const HOUR_MS = 3_600_000

/** Creates the partitions for old rows that the source has and the target lacks. */
async function createPartitionsOf({ source, target }: Move): Promise<void> {
  const oldest = await source.db.query<{ table: string; hour: number }>(sql`
    select p.relname as table, min(substring(c.relname from '_([0-9]+)$')::int) as hour
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where p.relnamespace = current_schema()::regnamespace and p.relname = any (${PARTITIONED.map(({ table }) => table)})
    group by 1`)
  for (const { table, hour } of oldest) {
    const partitioned = PARTITIONED.find((each) => each.table === table)!
    // The move needs these partitions. Creating them here makes it fail early, not while copying rows, if a backup is being
    // read.
    await createPartitions(target.db, [{ ...partitioned, unless: undefined }], hour * HOUR_MS)
  }
}

async function finish({ deps: { ids, by, progress }, move, shapes }: Step): Promise<ProvedBooks | undefined> {
  const { source, target, tenantId } = move
  await requireOneRelease(move)
  await copyLateRequestIds(move, shapes)
  await removeGuards(target, tenantId)
  await failpoint('move.guards-removed')
  await source.db.query({ text: 'delete from tenant_move_changes where tenant_id = $1', values: [tenantId] })
  const books = await findProvedBooks(move)
  await auditInCell(target, ids, move, by, 'tenant.moved_in', { books })
  await auditInCell(source, ids, move, by, 'tenant.moved_out', { books })
  await setState(move, 'DONE')
  if (books) {
    const { firstSize, lastSize } = books
    progress(
      `books: the first checkpoint of cell ${target.name} (${firstSize} entries) continues the last one of cell ${source.name} (${lastSize} entries)`,
    )
  }
  progress(`moved: cell ${source.name} keeps its rows until tenant move --clean`)
  return books
}
