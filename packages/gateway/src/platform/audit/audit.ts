import type { Ids } from '@dealer-esim/lib/ids.ts'
import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { AuditAction } from './audited-actions.ts'

/** The owner of rows that belong to no tenant, in every table whose key begins with the tenant. */
export const NIL_TENANT = '00000000-0000-0000-0000-000000000000'

/**
 * `cli:<os user>`, `person:<id>`, `tenant` (a signed request from the dealer), `unsigned` (a request without a signature),
 * `visitor` (somebody who is not signed in) or `system`.
 */
export type Actor = `cli:${string}` | `person:${string}` | 'tenant' | 'unsigned' | 'visitor' | 'system'

/** The author of a change. The APIs create it, and modules take it as their last parameter. */
export interface By {
  actor: Actor
  /** The address that a network request came from. */
  address?: string
}

/** Changes that the gateway makes on its own. */
export const SYSTEM: By = { actor: 'system' }

export function byPerson({ personId }: { personId: string }, address: string): Required<By> {
  return { actor: `person:${personId}`, address }
}

export interface AuditEntry extends By {
  /** null if it concerns the deployment. */
  tenantId: string | null
  action: AuditAction
  subject?: string
  before?: unknown
  after?: unknown
}

/** Records a change in the transaction that makes it. Entries are shown and exported, so they must not contain secrets. */
export function audit(tx: Tx, ids: Ids, entry: AuditEntry): void {
  auditAll(tx, ids, [entry])
}

/** Records several changes with one statement. */
export function auditAll(tx: Tx, ids: Ids, entries: readonly AuditEntry[]): void {
  const rows = entries.map((entry) => ({ ...entry, tenantId: entry.tenantId ?? NIL_TENANT, auditId: ids.uuid() }))
  tx.send({
    text: `insert into audit_log (tenant_id, audit_id, actor, action, subject, before, after, address)
           select tenant_id, audit_id, actor, action, subject, before, after, address
           from json_to_recordset($1) as r (tenant_id uuid, audit_id uuid, actor text, action text, subject text,
             before jsonb, after jsonb, address text)`,
    values: [recordset(rows, (_, member) => (typeof member === 'bigint' ? member.toString() : member))],
  })
}
