import { countAndSum, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type IdPage, idPage } from '@dealer-esim/lib/postgres/id-page.ts'
import { requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, type Sql } from 'sql-template-tag'

/*
 * An adjustment moves money without a payment or an order, so it takes two people:
 *
 *   PROPOSED → APPROVED   by a person other than the proposer; the same transaction posts the transfer
 *   PROPOSED → REJECTED   by anybody; if by the proposer, it is a withdrawal
 *   PROPOSED → EXPIRED    after a week, when nobody remembers the details any more
 *
 * Every transition holds the wallet's lock, which is taken before the proposal is read.
 */

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

/**
 * Columns of wallet_adjustments. A proposal past `expires_at` is shown as EXPIRED even if its row has not been updated yet.
 */
export const ADJUSTMENT_COLUMNS = sql`
  adjustment_id, tenant_id, amount, reference, reason, proposed_by,
  created_at, expires_at, decided_by, decided_at,
  wallet_version,
  ${shownStatus()} as status`

function shownStatus() {
  return sql`case when adjustment_status = 'PROPOSED' and expires_at <= clock_timestamp() then 'EXPIRED'
                  else adjustment_status end`
}

const LISTED_DEFAULT = 500

interface AdjustmentFilter {
  tenantId?: string | undefined
  /** Only those waiting for approval, using their index. */
  open?: boolean | undefined
  status?: AdjustmentStatus | undefined
}

/** Lists adjustments of one tenant or of all, by time. */
export async function listAdjustments(
  db: Pick<Db, 'query'>,
  page: AdjustmentFilter & Partial<IdPage> = {},
): Promise<Adjustment[]> {
  return db.query<Adjustment>(sql`
    select ${ADJUSTMENT_COLUMNS} from wallet_adjustments
    where true ${conditions(page)} ${idPage('adjustment_id', { limit: LISTED_DEFAULT, ...page })}`)
}

/** Counts the matching adjustments and sums their amounts. */
export function countAdjustments(db: Pick<Db, 'query'>, filter: AdjustmentFilter): Promise<RowCount> {
  return countAndSum(
    db,
    sql`select currency_code, amount from wallet_adjustments join wallets using (tenant_id)
        where true ${conditions(filter)}`,
  )
}

function conditions({ tenantId, open = false, status }: AdjustmentFilter): Sql {
  return sql`
    ${tenantId === undefined ? empty : sql`and tenant_id = ${requireUuid(tenantId, 'tenant')}`}
    ${open ? sql`and adjustment_status = 'PROPOSED' and expires_at > clock_timestamp()` : empty}
    ${status === undefined ? empty : sql`and ${shownStatus()} = ${status}`}`
}
