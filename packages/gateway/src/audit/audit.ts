import type { Ids } from '../lib/ids.ts'
import { recordset } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { AuditAction } from './actions.ts'

/** The owner of rows that belong to no tenant, in every table whose key begins with the tenant. */
export const NIL_TENANT = '00000000-0000-0000-0000-000000000000'

/** Who did it: `cli:<os user>`, `person:<id>`, `tenant` (its own API call) or `system`. */
export type Actor = `cli:${string}` | `person:${string}` | 'tenant' | 'system'

/** Who changes something. A door makes it; a room takes it last, before its own options and callbacks at most. */
export interface By {
  actor: Actor
  /** Where from, when it came over a network. */
  address?: string
}

/** We ourselves. */
export const SYSTEM: By = { actor: 'system' }

export function byPerson({ personId }: { personId: string }, address: string): Required<By> {
  return { actor: `person:${personId}`, address }
}

export interface AuditEntry extends By {
  /** null: concerns the deployment, not one tenant. */
  tenantId: string | null
  action: AuditAction
  subject?: string
  before?: unknown
  after?: unknown
}

/** Records a change in the transaction that makes it. Never hand it a secret: entries are shown and exported. */
export function audit(tx: Tx, ids: Ids, entry: AuditEntry): void {
  auditAll(tx, ids, [entry])
}

/** As `audit`, for a change of many things at once. */
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
