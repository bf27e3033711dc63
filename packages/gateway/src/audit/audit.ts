import type { Tx } from '../lib/db.ts'
import { type Ids, NIL_TENANT } from '../lib/ids.ts'

/** Who did it: `cli:<os user>`, `person:<id>`, `tenant` (its own API call) or `system`. */
export type Actor = `cli:${string}` | `person:${string}` | 'tenant' | 'system'

export interface AuditEntry {
  /** null: concerns the deployment, not one tenant. */
  tenantId: string | null
  actor: Actor
  /** noun.verb, such as `wallet.top_up`. */
  action: string
  subject?: string
  before?: unknown
  after?: unknown
  /** Where from, when it came over a network. */
  address?: string
}

/** Records a change in the transaction that makes it. Never hand it a secret: entries are shown and exported. */
export function audit(tx: Tx, ids: Ids, entry: AuditEntry): void {
  tx.send({
    text: `insert into audit_log (tenant_id, audit_id, actor, action, subject, before, after, address)
           values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    values: [
      entry.tenantId ?? NIL_TENANT,
      ids.uuid(),
      entry.actor,
      entry.action,
      entry.subject ?? null,
      asJson(entry.before),
      asJson(entry.after),
      entry.address ?? null,
    ],
  })
}

function asJson(value: unknown): string | null {
  if (value === undefined) return null
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? member.toString() : member))
}
