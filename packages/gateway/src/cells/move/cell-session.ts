import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { CellNode } from '../cells-file.ts'

/** A cell as the mover sees it: through its database. */
export interface MovingCell {
  name: string
  db: Db
}

/** A tenant's move from one cell to another. */
export interface Move {
  moveId: string
  tenantId: string
  source: MovingCell & ListedNodes
  target: MovingCell & ListedNodes
}

/** The move of a live dealer. Its test twin, which has a schema of its own in both cells, goes along in the same move. */
export interface DealerMove extends Move {
  twin?: Move | undefined
}

interface ListedNodes {
  /** API nodes from the cells file, through which the other cell reaches this one. */
  nodes: readonly CellNode[]
}

/**
 * A transaction of the mover, which the guards of the tenant's tables (guard.ts) let write. Rows are compared as text, so
 * both cells write times in the same time zone. Joins with lists of keys use indexes, whatever the statistics say.
 */
export function inCell<Result>(
  { db }: MovingCell,
  tenantId: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return db.tx((tx) => {
    tx.send(settings(tenantId))
    return work(tx)
  })
}

/** The same, read-only, on the snapshot of the first statement. */
export function inSnapshot<Result>(
  { db }: MovingCell,
  tenantId: string,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return db.tx((tx) => {
    tx.send({ text: 'set transaction isolation level repeatable read, read only' })
    tx.send(settings(tenantId))
    return work(tx)
  })
}

function settings(tenantId: string) {
  const values = { 'dealer_esim.moved_tenant': tenantId, timezone: 'UTC', bytea_output: 'hex' }
  const plans = { enable_hashjoin: 'off', enable_mergejoin: 'off', enable_seqscan: 'off' }
  const all = Object.entries({ ...values, ...plans })
  return {
    name: 'move-settings',
    text: `select ${all.map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, true)`).join(', ')}`,
    values: all.flat(),
  }
}
