import { type Ids, NIL_TENANT } from '../lib/ids.ts'
import type { Tx } from '../lib/postgres/db.ts'

export interface Notice {
  /** null: concerns the deployment. */
  tenantId: string | null
  /** UPPER_SNAKE, such as LOW_BALANCE. */
  kind: string
  audience: 'OPERATOR' | 'TENANT'
  /** A sentence that says what happened and what to do. */
  message: string
  data?: Record<string, unknown>
}

/** Tells operators, or a tenant's people, in the transaction that caused it. The console shows it, e-mail may carry it. */
export function notify(tx: Tx, ids: Ids, notice: Notice): void {
  tx.send({
    text: `insert into alerts (tenant_id, alert_id, kind, audience, message, data) values ($1, $2, $3, $4, $5, $6)`,
    values: [
      notice.tenantId ?? NIL_TENANT,
      ids.uuid(),
      notice.kind,
      notice.audience,
      notice.message,
      JSON.stringify(notice.data ?? {}),
    ],
  })
}
