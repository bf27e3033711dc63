import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import type { AlertKind } from './alert-kinds.ts'

export interface Alert {
  /** null if it concerns the deployment. */
  tenantId: string | null
  kind: AlertKind
  audience: 'OPERATOR' | 'TENANT'
  /** What happened and what to do. */
  message: string
  data?: Record<string, unknown>
}

/**
 * Raises an alert for operators or a tenant's people, in the transaction that causes it. The console shows the alert, and
 * it may also be sent by e-mail.
 */
export function createAlert(tx: Tx, ids: Ids, alert: Alert): void {
  tx.send({
    text: `insert into alerts (tenant_id, alert_id, kind, audience, message, data) values ($1, $2, $3, $4, $5, $6)`,
    values: [
      alert.tenantId ?? NIL_TENANT,
      ids.uuid(),
      alert.kind,
      alert.audience,
      alert.message,
      JSON.stringify(alert.data ?? {}),
    ],
  })
}
