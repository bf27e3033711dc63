import { createPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { By } from '#platform/audit/audit.ts'
import { PARTITIONED } from '#platform/retention/retention-table.ts'
import { bringLedgerKeys } from '#wallet/books/bring-keys.ts'
import type { KeyDeps } from '#wallet/books/ledger-keys.ts'
import { inCell, type Move } from './cell-session.ts'
import { findObstacles, requireOneRelease } from './check-move.ts'
import { copyTables, describeMove, type Shapes } from './copy-rows.ts'
import { copyLateRequestIds, removeTenant } from './leftovers.ts'
import { installGuards, removeGuards } from './move-guard.ts'
import { auditInCell, auditMove, findMove, insertMove, openTarget, setState } from './move-state.ts'
import { type Switched, switchOver } from './switch-over.ts'

export interface MoveDeps extends Pick<KeyDeps, 'ids' | 'cipher'> {
  by: By
  /** Receives a line about each step. */
  progress(line: string): void
  /** Sends the dealer's requests to the target. Called as soon as the target serves the dealer. */
  route(): Promise<void>
}

/** The report on a finished move. */
interface MoveReport extends Partial<Switched> {
  rows: number
}

/**
 * Moves a tenant, or continues a move that was interrupted at any step (state.ts lists them).
 * @throws Refusal that says what to do; nothing has then changed for the dealer
 */
export async function moveTenant(deps: MoveDeps, move: Move): Promise<MoveReport> {
  const report: MoveReport = { rows: 0 }
  if ((await findMove(move.source.db, move.tenantId))?.moveId !== move.moveId) await prepare(deps, move)
  const { state } = (await findMove(move.source.db, move.tenantId))!
  if (state === 'DONE') return report
  const shapes = await describeMove(move.source)
  if (state !== 'SWITCHED') {
    await requireOneRelease(move)
    await copyAll(deps, move, shapes, report)
    Object.assign(report, await switchOver(deps, move, shapes))
    await failpoint('move.source-closed')
  }
  await openTarget(move.target, move)
  await failpoint('move.target-opened')
  deps.progress(`cell ${move.target.name} serves the dealer`)
  await deps.route()
  await failpoint('move.routed')
  await finish(deps, move, shapes)
  return report
}

async function prepare({ ids, by, progress }: MoveDeps, move: Move): Promise<void> {
  const obstacles = await findObstacles(move)
  if (obstacles.length > 0) throw new Refusal(409, 'CANNOT_MOVE', obstacles.join(' '))
  await inCell(move.source, move.tenantId, async (tx) => {
    tx.send({ text: `delete from tenant_moves where tenant_id = $1 and state = 'DONE'`, values: [move.tenantId] })
    insertMove(tx, move, 'OUT', by.actor)
    auditMove(tx, ids, move, by, 'tenant.move_out')
  })
  await failpoint('move.prepared')
  progress(`checked: cell ${move.target.name} can take the dealer`)
}

/** Does everything that may take hours. The source serves the tenant as usual. */
async function copyAll(deps: MoveDeps, move: Move, shapes: Shapes, report: MoveReport): Promise<void> {
  const { by, progress } = deps
  const { source, target, tenantId, moveId } = move
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
    report.rows += rows
    if (rows > 0) progress(`copied ${table}: ${rows} rows`)
  })
  // Before the comparison, which verifies in both cells what the source has signed.
  await bringLedgerKeys(deps, source, target)
  await failpoint('move.copied')
}

const HOUR_MS = 3_600_000

/** Creates the partitions for old rows that the source has and the target lacks. */
async function createPartitionsOf({ source, target }: Move): Promise<void> {
  const oldest = await source.db.query<{ table: string; hour: number }>({
    text: `select p.relname as table, min(substring(c.relname from '_([0-9]+)$')::int) as hour
           from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
           where p.relnamespace = current_schema()::regnamespace and p.relname = any ($1)
           group by 1`,
    values: [PARTITIONED.map(({ table }) => table)],
  })
  for (const { table, hour } of oldest) {
    const partitioned = PARTITIONED.find((each) => each.table === table)!
    // The move needs these partitions. Creating them here makes it fail early, not while copying rows, if a backup is being
    // read.
    await createPartitions(target.db, [{ ...partitioned, unless: undefined }], hour * HOUR_MS)
  }
}

async function finish({ ids, by, progress }: MoveDeps, move: Move, shapes: Shapes): Promise<void> {
  const { source, target, tenantId } = move
  await requireOneRelease(move)
  await copyLateRequestIds(move, shapes)
  await removeGuards(target, tenantId)
  await failpoint('move.guards-removed')
  await source.db.query({ text: 'delete from tenant_move_changes where tenant_id = $1', values: [tenantId] })
  await auditInCell(target, ids, move, by, 'tenant.moved_in')
  await auditInCell(source, ids, move, by, 'tenant.moved_out')
  await setState(move, 'DONE')
  progress(`moved: cell ${source.name} keeps its rows until tenant move --clean`)
}
