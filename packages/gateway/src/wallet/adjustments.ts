import sql, { empty } from 'sql-template-tag'
import type { Db } from '../lib/db.ts'
import { requireUuid } from '../lib/refusal.ts'

export type AdjustmentStatus = 'PROPOSED' | 'APPROVED' | 'REJECTED' | 'EXPIRED'

export interface Adjustment {
  adjustmentId: string
  tenantId: string
  amount: bigint
  reference: string
  reason: string
  status: AdjustmentStatus
  proposedBy: string
  createdAt: Date
  expiresAt: Date
  decidedBy: string | null
  decidedAt: Date | null
  /** Of its transfer, once approved. */
  walletVersion: bigint | null
}

export interface AdjustmentRow {
  adjustment_id: string
  tenant_id: string
  amount: bigint
  reference: string
  reason: string
  status: AdjustmentStatus
  proposed_by: string
  created_at: Date
  expires_at: Date
  decided_by: string | null
  decided_at: Date | null
  wallet_version: bigint | null
}

/** A proposal is past its time the moment that it is, whether or not anybody has written that down. */
export const ADJUSTMENT_COLUMNS = sql`
  adjustment_id, tenant_id, amount, reference, reason, proposed_by, created_at, expires_at, decided_by, decided_at,
  wallet_version,
  case when adjustment_status = 'PROPOSED' and expires_at <= clock_timestamp() then 'EXPIRED'
       else adjustment_status end as status`

const PAGE_MAX = 500

/** Adjustments, newest first: of one tenant, or those of all that wait for a second person. */
export async function listAdjustments(
  db: Pick<Db, 'query'>,
  page: { tenantId?: string; open?: boolean; pageSize?: number; after?: string } = {},
): Promise<Adjustment[]> {
  const { tenantId, open = false, pageSize = PAGE_MAX, after } = page
  const rows = await db.query<AdjustmentRow>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where true
      ${tenantId === undefined ? empty : sql`and tenant_id = ${requireUuid(tenantId, 'tenant')}`}
      ${open ? sql`and adjustment_status = 'PROPOSED' and expires_at > clock_timestamp()` : empty}
      ${after === undefined ? empty : sql`and adjustment_id < ${after}`}
    order by adjustment_id desc
    limit ${Math.min(pageSize, PAGE_MAX)}`)
  return rows.map(adjustmentOf)
}

/** Whose wallets they are, and in which currency: an amount alone is no sentence. */
export async function walletNames(
  db: Pick<Db, 'query'>,
  tenantIds: readonly string[],
): Promise<Map<string, { clientName: string; currencyCode: string }>> {
  const rows = await db.query<{ tenant_id: string; client_name: string; currency_code: string }>(sql`
    select t.tenant_id, t.client_name, w.currency_code from tenants t join wallets w using (tenant_id)
    where t.tenant_id = any (${[...new Set(tenantIds)]})`)
  return new Map(rows.map((row) => [row.tenant_id, { clientName: row.client_name, currencyCode: row.currency_code }]))
}

export function adjustmentOf(row: AdjustmentRow): Adjustment {
  return {
    adjustmentId: row.adjustment_id,
    tenantId: row.tenant_id,
    amount: row.amount,
    reference: row.reference,
    reason: row.reason,
    status: row.status,
    proposedBy: row.proposed_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at,
    walletVersion: row.wallet_version,
  }
}
