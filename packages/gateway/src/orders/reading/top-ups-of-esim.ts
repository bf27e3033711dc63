import type { OrderStatus } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'

export interface EsimTopUp {
  orderId: string
  /** The number of its debit. */
  entryNo: bigint
  packageName: string
  /** Days of a day pass. */
  periodNum: number | null
  orderStatus: OrderStatus
  amount: bigint
  refundedAmount: bigint
  currencyCode: string
  createdAt: Date
}

const LISTED_MAX = 100

/** The latest top-ups of one eSIM, newest first, read through the index of its top-ups. */
export function listTopUpsOf(
  db: Pick<Db, 'query'>,
  { tenantId, profileId }: { tenantId: string; profileId: string },
): Promise<EsimTopUp[]> {
  return db.query<EsimTopUp>(sql`
    select order_id, wallet_version as entry_no, package_lines -> 0 ->> 'packageName' as package_name,
           (package_lines -> 0 ->> 'periodNum')::int as period_num,
           order_status, amount, refunded_amount, currency_code, created_at
    from orders where tenant_id = ${tenantId} and topped_up_profile_id = ${profileId}
    order by wallet_version desc limit ${LISTED_MAX}`)
}
