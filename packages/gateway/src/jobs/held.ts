/**
 * SQL: whether a tenant is being moved to or from another cell, so that no loop may begin work for it. In the target that is
 * until the tenant arrives; in the source while the last changes are copied, and for ever after it has left (cells/move).
 * Name the tenant's column with its table. The table of moves has a row per moved tenant: without one the condition costs a probe of an empty index.
 */
export const isHeld = (tenantId: string): string =>
  `exists (select from tenant_moves held where held.tenant_id = ${tenantId} and held.held_until > now())`
