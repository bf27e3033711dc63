import { formatMoney } from '@dealer-esim/contract'
import { countAndSum, type RowCount } from '@dealer-esim/lib/postgres/count-rows.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { type IdPage, idPage } from '@dealer-esim/lib/postgres/id-page.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql, { empty, type Sql } from 'sql-template-tag'
import { FIRST_PERSON_DAYS } from '../ledger/ledger-checks.ts'

/*
 * A dealer reports a payment, and an operator confirms or declines it:
 *
 *   REQUESTED → PAID       the same transaction posts one top-up under the request's reference, or finds it posted
 *   REQUESTED → DECLINED   with a reason that the dealer can read
 *
 * Above an amount that the operator sets per currency, two people confirm: the first is recorded in `confirmed_by` for
 * a week, the second posts. Both decisions hold the wallet's lock, which is taken before the request is read.
 */

export const TOP_UP_REQUEST_STATUSES = ['REQUESTED', 'PAID', 'DECLINED'] as const
export type TopUpRequestStatus = (typeof TOP_UP_REQUEST_STATUSES)[number]

export interface TopUpRequest {
  requestId: string
  tenantId: string
  amount: bigint
  reference: string
  status: TopUpRequestStatus
  requestedBy: string
  createdAt: Date
  /** The first of two people, while their confirmation counts. */
  confirmedBy: string | null
  decidedBy: string | null
  decidedAt: Date | null
  declineReason: string | null
  /** The version of its transfer; null until it is paid. */
  walletVersion: bigint | null
  hasReceipt: boolean
}

export const REQUEST_COLUMNS = sql`
  r.request_id, r.tenant_id, r.amount, r.reference, r.request_status as status, r.requested_by, r.created_at,
  case when r.confirmed_at > clock_timestamp() - ${FIRST_PERSON_DAYS} * interval '1 day' or r.request_status = 'PAID'
       then r.confirmed_by end as confirmed_by,
  r.decided_by, r.decided_at, r.decline_reason, r.wallet_version,
  exists (select from top_up_receipts f where f.tenant_id = r.tenant_id and f.request_id = r.request_id) as has_receipt`

interface TopUpRequestFilter {
  tenantId?: string | undefined
  status?: TopUpRequestStatus | undefined
}

/** Lists requests of one tenant or of all, by time. */
export function listTopUpRequests(db: Pick<Db, 'query'>, page: TopUpRequestFilter & IdPage): Promise<TopUpRequest[]> {
  return db.query<TopUpRequest>(sql`
    select ${REQUEST_COLUMNS} from top_up_requests r
    where true ${conditions(page)} ${idPage('r.request_id', page)}`)
}

/** Counts the matching requests and sums their amounts. */
export function countTopUpRequests(db: Pick<Db, 'query'>, filter: TopUpRequestFilter): Promise<RowCount> {
  return countAndSum(
    db,
    sql`select w.currency_code, r.amount from top_up_requests r join wallets w using (tenant_id)
        where true ${conditions(filter)}`,
  )
}

function conditions({ tenantId, status }: TopUpRequestFilter): Sql {
  return sql`
    ${tenantId === undefined ? empty : sql`and r.tenant_id = ${requireUuid(tenantId, 'tenant')}`}
    ${status === undefined ? empty : sql`and r.request_status = ${status}`}`
}

/** Counts the requests waiting for an operator. */
export async function countOpenRequests(db: Pick<Db, 'query'>): Promise<number> {
  const [row] = await db.query<{ open: number }>(sql`
    select count(*)::int as open from top_up_requests where request_status = 'REQUESTED'`)
  return row!.open
}

/** Locks a request. The caller has locked the wallet. @throws Refusal if it does not exist */
export async function lockRequest(tx: Tx, tenantId: string, requestId: string): Promise<TopUpRequest> {
  const [row] = await tx.query<TopUpRequest>(sql`
    select ${REQUEST_COLUMNS} from top_up_requests r
    where r.tenant_id = ${tenantId} and r.request_id = ${requireUuid(requestId, 'top-up request')} for update`)
  if (!row) throw notFound('top-up request')
  return row
}

/** Formats a request for messages, such as `500.00 USD, reference INV-7`. */
export function requestText(request: Pick<TopUpRequest, 'amount' | 'reference'>, currencyCode: string): string {
  return `${formatMoney(request.amount)} ${currencyCode}, reference ${request.reference}`
}
