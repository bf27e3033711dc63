import sql, { empty } from 'sql-template-tag'
import type { Db } from '../../lib/postgres/db.ts'
import { requireUuid } from '../../lib/refusal.ts'

export const ADJUSTMENT_STATUSES = ['PROPOSED', 'APPROVED', 'REJECTED', 'EXPIRED'] as const
export type AdjustmentStatus = (typeof ADJUSTMENT_STATUSES)[number]

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
  /** The version of its transfer; null until approved. */
  walletVersion: bigint | null
}

/** A proposal past `expires_at` is shown as EXPIRED even if its row is not updated yet. */
export const ADJUSTMENT_COLUMNS = sql`
  adjustment_id, tenant_id, amount, reference, reason, proposed_by,
  created_at, expires_at, decided_by, decided_at,
  wallet_version,
  ${shownStatus()} as status`

function shownStatus() {
  return sql`case when adjustment_status = 'PROPOSED' and expires_at <= clock_timestamp() then 'EXPIRED'
                  else adjustment_status end`
}

const PAGE_MAX = 500

/** Lists adjustments of one tenant or of all, newest first. `open`: only those that wait for approval, by their index. */
export async function listAdjustments(
  db: Pick<Db, 'query'>,
  page: {
    tenantId?: string | undefined
    open?: boolean | undefined
    status?: AdjustmentStatus | undefined
    limit?: number
    after?: string | undefined
  } = {},
): Promise<Adjustment[]> {
  const { tenantId, open = false, status, limit = PAGE_MAX, after } = page
  return db.query<Adjustment>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where true
      ${tenantId === undefined ? empty : sql`and tenant_id = ${requireUuid(tenantId, 'tenant')}`}
      ${open ? sql`and adjustment_status = 'PROPOSED' and expires_at > clock_timestamp()` : empty}
      ${status === undefined ? empty : sql`and ${shownStatus()} = ${status}`}
      ${after === undefined ? empty : sql`and adjustment_id < ${after}`}
    order by adjustment_id desc
    limit ${Math.min(limit, PAGE_MAX)}`)
}

/** The tenant's name and the currency of each wallet, to show amounts with. */
export async function listWalletNames(
  db: Pick<Db, 'query'>,
  tenantIds: readonly string[],
): Promise<Map<string, { clientName: string; currencyCode: string }>> {
  const rows = await db.query<{ tenantId: string; clientName: string; currencyCode: string }>(sql`
    select t.tenant_id, t.tenant_name as client_name, w.currency_code
    from tenants t join wallets w using (tenant_id)
    where t.tenant_id = any (${[...new Set(tenantIds)]})`)
  return new Map(rows.map(({ tenantId, ...names }) => [tenantId, names]))
}
