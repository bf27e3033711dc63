import { setTimeout as delay } from 'node:timers/promises'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { removeTenants } from '#operations/trial/remove-tenants.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { inSnapshot, type Move, type MovingCell } from './cell-session.ts'
import { copyChanges, type Shapes } from './copy-rows.ts'
import { removeGuards } from './move-guard.ts'
import { auditInCell, findMove } from './move-state.ts'

const POLL_MS = 50
/** Longer than an admission statement may take. */
const ADMISSIONS_WAIT_MS = 5_000

/**
 * Copies RequestIDs that the source accepted while it was closed, because admission had read the tenant earlier. Their
 * requests were refused. First waits, for 5 s at most, until such statements have ended.
 */
export async function copyLateRequestIds(move: Move, shapes: Shapes): Promise<void> {
  const { db } = move.source
  const [closed] = await db.query<{ horizon: string }>(sql`
    select pg_snapshot_xmax(pg_current_snapshot())::text as horizon`)
  const until = performance.now() + ADMISSIONS_WAIT_MS
  for (;;) {
    const [now] = await db.query<{ isOver: boolean }>(sql`
      select pg_snapshot_xmin(pg_current_snapshot()) >= ${closed!.horizon}::text::xid8 as is_over`)
    if (now!.isOver || performance.now() > until) break
    await delay(POLL_MS)
  }
  await inSnapshot(move.source, move.tenantId, (snapshot) => copyChanges(snapshot, move, shapes))
}

/** Removes all rows of a tenant from a cell, including the row about its move. */
export async function removeTenant(cell: MovingCell, tenantId: string): Promise<void> {
  await removeGuards(cell, tenantId)
  await removeTenants(cell.db, [tenantId])
}

/**
 * Ends a move before its target serves the tenant: the source continues to serve it, and the target keeps nothing.
 * @throws Refusal if there is no such move, or it can no longer be undone
 */
export async function abortMove({ ids, by }: { ids: Ids; by: By }, move: Move): Promise<void> {
  const { source, target, tenantId, moveId } = move
  const [ended] = await source.db.query(sql`
    delete from tenant_moves
    where tenant_id = ${tenantId} and move_id = ${moveId} and state not in ('SWITCHED', 'DONE') returning 1`)
  // If the source has no row, an earlier abort was interrupted at this point.
  if (!ended && (await findMove(source.db, tenantId))) {
    throw new Refusal(
      409,
      'ALREADY_MOVED',
      `Cell ${source.name} no longer serves the dealer. Run tenant move again to finish; to undo the move, move the dealer back from cell ${target.name}.`,
    )
  }
  await failpoint('move.abort-begun')
  await removeGuards(source, tenantId)
  const there = await findMove(target.db, tenantId)
  if (there?.moveId === moveId) await removeTenant(target, tenantId)
  await source.db.query({ text: 'delete from tenant_move_changes where tenant_id = $1', values: [tenantId] })
  await auditInCell(source, ids, move, by, 'tenant.abort_move')
}

/**
 * Removes everything that a cell still holds of a tenant that was moved away. @throws Refusal if the tenant was not moved
 * away
 */
export async function removeMoved(ids: Ids, by: By, cell: MovingCell, tenantId: string): Promise<void> {
  const found = await findMove(cell.db, tenantId)
  if (found?.direction !== 'OUT' || found.state !== 'DONE') {
    throw new Refusal(409, 'NOT_MOVED', `The dealer was not moved away from cell ${cell.name}, so nothing was removed.`)
  }
  await removeTenant(cell, tenantId)
  await cell.db.tx(async (tx) => {
    // The dealer's own audit log has moved with it, so this entry belongs to the deployment.
    audit(tx, ids, {
      tenantId: null,
      subject: tenantId,
      ...by,
      action: 'tenant.remove_moved',
      after: { to: found.otherCell },
    })
  })
}
