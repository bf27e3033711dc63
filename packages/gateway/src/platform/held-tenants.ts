import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'

/**
 * SQL: true while a tenant is moving to or from another cell, so that no loop begins work for it. In the target cell this
 * lasts until the tenant has arrived. In the source cell it lasts while the last changes are copied, and permanently once
 * the tenant has left (cells/move). Qualify the tenant's column with its table. The table of moves has one row per moved
 * tenant: without moves the condition costs one probe of an empty index.
 */
export const isMoving = (tenantId: string): string =>
  `exists (select from tenant_moves held where held.tenant_id = ${tenantId} and held.held_until > now())`

/** SQL: the key of the lock that `tenant move` holds while it runs. What may not happen during a move shares it. */
export const moveLock = (tenantId: string): string => advisoryKey(`move ${tenantId}`)

/**
 * SQL: true from the beginning of a tenant's move to its end, and in a cell that the tenant has left.
 */
export const isBetweenCells = (tenantId: string): string =>
  `exists (select from tenant_moves m where m.tenant_id = ${tenantId} and (m.direction = 'OUT' or m.state <> 'DONE'))`

/**
 * SQL: true from a restore until an operator has released the tenant (operations/recovery). Until then nothing is bought,
 * cancelled or sent for it, because the database does not know what was. The nil tenant is released last. The table of
 * restores has a row per restore.
 */
export const isInRecovery = (tenantId: string): string =>
  `exists (select from restores restored where restored.recovering and not exists (select from recovered_tenants released
    where released.tenant_id = ${tenantId} and released.restore_id = restored.restore_id))`

/**
 * Refuses what an operator or a dealer's person would begin while the tenant is in recovery.
 * @throws Refusal
 */
export async function requireReleased(db: Pick<Tx, 'query'>, tenantId: string, instead: string): Promise<void> {
  const held = await db.query({ text: `select where ${isInRecovery('$1::uuid')}`, values: [tenantId] })
  if (held.length > 0)
    throw new Refusal(
      409,
      'IN_RECOVERY',
      `The gateway is in recovery from a restore, and this dealer is not released yet. ${instead}`,
    )
}

/** SQL: no loop calls suppliers or sends anything for the tenant. */
export const isHeld = (tenantId: string): string => `(${isMoving(tenantId)} or ${isInRecovery(tenantId)})`

/**
 * SQL: finds a row while the worker prepares a recovery, and keeps the recovery from ending before the transaction does. What is
 * held in that transaction is thus held by the recovery that releases it.
 */
export const BEING_PREPARED = 'select from restores where recovering and prepared_at is null for share'
