import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { type OperatorAlertKind, TENANT_ALERT_KINDS, type TenantAlertKind } from './alert-kinds.ts'

/** The kind says who reads it. One for operators without a tenant concerns the deployment. */
type Alert = ({ kind: OperatorAlertKind; tenantId?: string } | { kind: TenantAlertKind; tenantId: string }) & {
  /** What happened and what to do. */
  message: string
  data?: Record<string, unknown>
}

/**
 * Raises an alert for operators or a tenant's people, in the transaction that causes it. The console shows the alert, and
 * it may also be sent by e-mail.
 */
export function createAlert(tx: Tx, ids: Ids, alert: Alert): void {
  const { tenantId = NIL_TENANT, kind, message, data = {} } = alert
  const audience = (TENANT_ALERT_KINDS as readonly string[]).includes(kind) ? 'TENANT' : 'OPERATOR'
  tx.send({
    text: `insert into alerts (tenant_id, alert_id, kind, audience, message, data) values ($1, $2, $3, $4, $5, $6)`,
    values: [tenantId, ids.uuid(), kind, audience, message, JSON.stringify(data)],
  })
}
