import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By } from '#platform/audit/audit.ts'
import type { CellNode } from '../cells-file.ts'
import { inCell, type Move, type MovingCell } from './cell-session.ts'

/*
 * A move's row, in both cells:
 *
 *   PREPARED   checked; nothing is copied
 *   COPYING    guards are installed; rows are copied while the source serves the tenant
 *   FENCED     (source) nobody writes the tenant's rows until a set time; then the source serves it again, as in COPYING
 *   VERIFIED   still behind the fence: both cells have the same rows, and the target's first checkpoint continues the
 *              source's last one (prove-books.ts)
 *   SWITCHED   the source never serves the tenant again: this commit decides. Then the target does (arrival.ts)
 *   DONE       late RequestIDs are copied, the target's guards removed. The source keeps its rows until they are removed
 *
 * Up to VERIFIED a move can be aborted, and the source then continues as if nothing had happened. After SWITCHED, only
 * a move in the other direction can reverse it. A cell that may not serve the tenant until something happens in the
 * other cell has an endless fence: the target until SWITCHED, the source from then on. It forwards requests to the
 * other cell (http/forward.ts).
 */

type MoveState = 'PREPARED' | 'COPYING' | 'FENCED' | 'VERIFIED' | 'SWITCHED' | 'DONE'

export interface MoveRow {
  tenantId: string
  /** The dealer whose test twin this tenant is, once the twin's rows are in this cell. */
  liveTenantId: string | null
  moveId: string
  direction: 'OUT' | 'IN'
  otherCell: string
  state: MoveState
  /** When the fence ends, by the database's clock. */
  isFenced: boolean
  createdAt: Date
  updatedAt: Date
}

const MOVE = `select m.tenant_id, live_tenant_id, move_id, direction, other_cell, state,
    fenced_until > clock_timestamp() as is_fenced, m.created_at, m.updated_at
  from tenant_moves m left join twins on twins.tenant_id = m.tenant_id`

export async function findMove(db: Pick<Db, 'query'>, tenantId: string): Promise<MoveRow | undefined> {
  const [row] = await db.query<MoveRow>({
    text: `${MOVE} where m.tenant_id = $1`,
    values: [tenantId],
  })
  return row
}

/** Lists the moves to and from a cell, of dealers or of their test twins, the latest first. */
export function listMoves(db: Pick<Db, 'query'>): Promise<MoveRow[]> {
  return db.query<MoveRow>({ text: `${MOVE} order by m.updated_at desc` })
}

/** Records the move in a cell. From then on only the mover writes the tenant's rows in the target. */
export function insertMove(tx: Tx, move: Move, direction: 'OUT' | 'IN', actor: string): void {
  const isHere = direction === 'OUT'
  const other = isHere ? move.target : move.source
  tx.send({
    text: `insert into tenant_moves (tenant_id, move_id, direction, other_cell, other_nodes, state, held_until, fenced_until,
             actor)
           values ($1, $2, $3, $4, $5, 'PREPARED', $6, $6, $7)`,
    values: [
      move.tenantId,
      move.moveId,
      direction,
      other.name,
      JSON.stringify(other.nodes),
      isHere ? '-infinity' : 'infinity',
      actor,
    ],
  })
}

/**
 * Checks that the move is still in progress. Every transaction that writes copied rows calls this first, because no row may
 * outlive an aborted move.
 * @throws Refusal
 */
export async function requireArriving(tx: Tx, { tenantId, moveId }: Move): Promise<void> {
  const [arriving] = await tx.query({
    name: 'move-arriving',
    text: `select from tenant_moves where tenant_id = $1 and move_id = $2 and direction = 'IN' for share`,
    values: [tenantId, moveId],
  })
  if (!arriving) throw new Refusal(409, 'MOVE_ENDED', 'The move was aborted by another command.')
}

/** Sets the state in both cells, the target first. */
export async function setState(move: Move, state: MoveState): Promise<void> {
  for (const cell of [move.target, move.source]) await cell.db.query(entering(move, state))
}

function entering({ tenantId, moveId }: Move, state: MoveState) {
  return {
    text: 'update tenant_moves set state = $3, updated_at = clock_timestamp() where tenant_id = $1 and move_id = $2',
    values: [tenantId, moveId, state],
  }
}

/** How long loops are kept from starting new work for the tenant. Work in progress continues. */
export async function holdWork({ source, tenantId }: Move, forMs: number): Promise<void> {
  await source.db.query(sql`
    update tenant_moves set held_until = clock_timestamp() + ${forMs} * interval '1 millisecond'
    where tenant_id = ${tenantId}`)
}

/** How long the mover waits for transactions that are writing the tenant's rows. */
const WRITERS_WAIT_MS = 1_000

/**
 * Sets the fence. If the mover is killed, the fence ends automatically, by the database's clock. The row lock waits for
 * transactions that have written the tenant's rows; later ones see the fence (guard_moved_tenant).
 */
export async function setFence({ source, tenantId }: Move, forMs: number): Promise<void> {
  await inCell(source, tenantId, async (tx) => {
    tx.send({ text: `set local lock_timeout = ${WRITERS_WAIT_MS}` })
    tx.send(sql`
      update tenant_moves set state = 'FENCED', updated_at = clock_timestamp(),
        fenced_until = clock_timestamp() + ${forMs} * interval '1 millisecond'
      where tenant_id = ${tenantId}`)
    sendNewVersion(tx, tenantId)
    // The guards do not note the mover's own writes, so this notes the new version.
    tx.send({
      text: `insert into tenant_move_changes (tenant_id, table_name, key)
             values ($1, 'tenants', jsonb_build_object('tenant_id', $1::uuid))`,
      values: [tenantId],
    })
  })
}

/** Lifts the fence: the source and its loops serve the tenant again. */
export async function liftFence({ source, tenantId }: Move): Promise<void> {
  await source.db.query(sql`
    update tenant_moves set state = 'COPYING', updated_at = clock_timestamp(),
      fenced_until = '-infinity', held_until = '-infinity'
    where tenant_id = ${tenantId} and state in ('COPYING', 'FENCED', 'VERIFIED')`)
}

/** How long closing waits for a lock, at the end of the fence. The source must not close later than that. */
const CLOSE_WAIT_MS = 500

/**
 * Ends the source's service for the tenant permanently, provided that the fence is still in force and nothing has been
 * written since the last copy. If an earlier fence ended and let writers through, the row lock waits for them, and this
 * then finds their notes.
 * @returns false if the fence had ended
 */
export async function closeSource({ source, tenantId, moveId }: Move): Promise<boolean> {
  return inCell(source, tenantId, async (tx) => {
    tx.send({ text: `set local lock_timeout = ${CLOSE_WAIT_MS}` })
    tx.send({ text: 'select from tenant_moves where tenant_id = $1 for update', values: [tenantId] })
    const closed = await tx.query({
      text: `update tenant_moves set state = 'SWITCHED', fenced_until = 'infinity', held_until = 'infinity',
               updated_at = clock_timestamp()
             where tenant_id = $1 and move_id = $2 and state = 'VERIFIED' and fenced_until > clock_timestamp()
               and not exists (select from tenant_move_changes
                               where tenant_id = $1 and table_name <> 'request_ids')
             returning 1`,
      values: [tenantId, moveId],
    })
    // Nodes that read the tenant behind the fence must read it again.
    if (closed.length > 0) sendNewVersion(tx, tenantId)
    return closed.length > 0
  })
}

/**
 * Makes the target serve the tenant. Call it only after `closeSource`, which left the move VERIFIED with the rows of the
 * source.
 * @returns false if the target already served the tenant
 */
export async function openTarget(
  target: MovingCell,
  { tenantId, moveId }: Pick<Move, 'tenantId' | 'moveId'>,
): Promise<boolean> {
  return inCell(target, tenantId, async (tx) => {
    const opened = await tx.query(sql`
      update tenant_moves set state = 'SWITCHED', fenced_until = '-infinity', held_until = '-infinity',
        updated_at = clock_timestamp()
      where tenant_id = ${tenantId} and move_id = ${moveId} and direction = 'IN' and state = 'VERIFIED' returning 1`)
    if (opened.length > 0) sendNewVersion(tx, tenantId)
    return opened.length > 0
  })
}

/** Makes nodes read the tenant again with its next request. */
function sendNewVersion(tx: Tx, tenantId: string): void {
  tx.send({ text: 'update tenants set version = version + 1 where tenant_id = $1', values: [tenantId] })
}

/** A move whose target waits for the source to be closed. */
export interface ArrivingMove extends Pick<Move, 'tenantId' | 'moveId'> {
  otherNodes: CellNode[]
}

export function listArriving(db: Pick<Db, 'query'>): Promise<(ArrivingMove & { otherCell: string })[]> {
  return db.query({
    name: 'moves-arriving',
    text: `select tenant_id, move_id, other_cell, other_nodes from tenant_moves where direction = 'IN' and state = 'VERIFIED'`,
  })
}

/** The state of a move in its source; undefined if this cell has no outgoing move with this id. */
export async function findLeaving(db: Pick<Db, 'query'>, moveId: string): Promise<MoveState | undefined> {
  const [row] = await db.query<{ state: MoveState }>({
    name: 'move-leaving',
    text: `select state from tenant_moves where move_id = $1 and direction = 'OUT'`,
    values: [moveId],
  })
  return row?.state
}

/** Records a step in the audit log of a cell. @param more what else the step did */
export function auditMove(
  tx: Tx,
  ids: Ids,
  move: Move,
  by: By,
  action: AuditEntry['action'],
  more: Readonly<Record<string, unknown>> = {},
): void {
  const after = { moveId: move.moveId, from: move.source.name, to: move.target.name, ...more }
  audit(tx, ids, { tenantId: move.tenantId, subject: move.tenantId, ...by, action, after })
}

export async function auditInCell(
  cell: MovingCell,
  ids: Ids,
  move: Move,
  by: By,
  action: AuditEntry['action'],
  more?: Readonly<Record<string, unknown>>,
): Promise<void> {
  await inCell(cell, move.tenantId, async (tx) => auditMove(tx, ids, move, by, action, more))
}
