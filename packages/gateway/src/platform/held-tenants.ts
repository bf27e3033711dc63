/**
 * SQL: true while a tenant is moving to or from another cell, so that no loop begins work for it. In the target cell this
 * lasts until the tenant has arrived. In the source cell it lasts while the last changes are copied, and permanently once
 * the tenant has left (cells/move). Qualify the tenant's column with its table. The table of moves has one row per moved
 * tenant: without moves the condition costs one probe of an empty index.
 */
export const isHeld = (tenantId: string): string =>
  `exists (select from tenant_moves held where held.tenant_id = ${tenantId} and held.held_until > now())`
