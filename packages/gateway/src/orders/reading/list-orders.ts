import {
  formatTime,
  type OrderLine,
  type OrderListAnswer,
  type OrderListRequest,
  type OrderStatus,
  type OrderSummary,
  type OrderType,
  orderNoOf,
  PAGE_SIZE_DEFAULT,
  parseTime,
} from '@dealer-esim/contract'
import { type CursorScope, createCursor, readCursor } from '@dealer-esim/lib/cursor.ts'
import { firstUuidAt, HIGHEST_UUID, LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { timeRange } from '#platform/test-time.ts'
import { type PackageLine, publicLineOf } from '../order-item.ts'
import { sentTransactionId } from '../transaction-id.ts'

/**
 * Lists one page of `order/list`, newest first by (createTime, id). An id begins with its order's createTime, so one range
 * of ids expresses both the time filter and the cursor.
 */
export async function listOrders(
  deps: { db: Pick<Db, 'query'>; linkKey: Buffer },
  tenantId: string,
  request: OrderListRequest,
  { testOffsetMs }: { testOffsetMs: number } = { testOffsetMs: 0 },
): Promise<OrderListAnswer> {
  const { cursor, pageSize, ...filters } = request
  const scope: CursorScope = { list: 'order/list', tenantId, filters }
  const limit = pageSize ?? PAGE_SIZE_DEFAULT
  const before = cursor == null ? HIGHEST_UUID : String(readCursor(deps.linkKey, scope, cursor)[0])
  const { name, where } = accessPath(request)
  const isInTestTime = testOffsetMs > 0
  const rows = await deps.db.query<Row>({
    name: `orders-list-${name}${isInTestTime ? '-test' : ''}`,
    text: select(isInTestTime ? `${where} and ${CREATED_BETWEEN}` : where),
    values: [
      tenantId,
      ...idRange(isInTestTime ? {} : request),
      before,
      limit + 1,
      request.orderStatus ?? null,
      request.orderType ?? null,
      ...(isInTestTime ? timeRange(request) : []),
    ],
  })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    orderList: page.map(summaryOf),
    nextCursor: rows.length > limit && last ? createCursor(deps.linkKey, scope, [last.orderId]) : null,
  }
}

/** The ids of orders whose createTime is from `startTime` up to, but not including, `endTime`. */
function idRange({ startTime, endTime }: OrderListRequest): [from: string, to: string] {
  return [
    startTime == null ? LOWEST_UUID : firstUuidAt(parseTime(startTime).getTime()),
    endTime == null ? HIGHEST_UUID : firstUuidAt(parseTime(endTime).getTime()),
  ]
}

/**
 * The index that serves a filter. A partial index serves a statement only if the statement repeats its condition.
 *
 *   PAID, ALLOCATING                        orders_due: the orders that fulfilment still works on
 *   UNDER_REVIEW                            orders_under_review
 *   PARTIALLY_DELIVERED, FAILED, CANCELLED  orders_unusual
 *   TOPUP                                   orders_topups
 *   anything else                           the primary key, backwards: most orders match
 */
function accessPath({ orderStatus, orderType }: OrderListRequest): { name: string; where: string } {
  switch (orderStatus ?? undefined) {
    case 'PAID':
    case 'ALLOCATING':
      return { name: 'open', where: 'and due_at is not null' }
    case 'UNDER_REVIEW':
      return { name: 'review', where: "and order_status = 'UNDER_REVIEW'" }
    case 'PARTIALLY_DELIVERED':
    case 'FAILED':
    case 'CANCELLED':
      return { name: 'unusual', where: "and order_status in ('PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED')" }
    default:
      return orderType === 'TOPUP' ? { name: 'topups', where: "and order_type = 'TOPUP'" } : { name: 'all', where: '' }
  }
}

/** In test time, ids no longer tell when an order was created, but still in which order. */
const CREATED_BETWEEN = 'created_at >= $8::timestamptz and created_at < $9::timestamptz'

/** The orders first, then all their items with one index scan. */
function select(where: string): string {
  return `
  with found as materialized (
    select * from orders
    where tenant_id = $1 and order_id >= $2::uuid and order_id < least($3::uuid, $4::uuid) ${where}
      and ($6::text is null or order_status = $6) and ($7::text is null or order_type = $7)
    order by order_id desc limit $5
  ), counted as materialized (
    select order_id, line_no, count(*) filter (where item_status = 'DELIVERED')::int as delivered,
      count(*) filter (where item_status in ('REFUSED', 'CANCELLED'))::int as failed,
      (array_agg(failure_reason order by item_no) filter (
        where item_status in ('REFUSED', 'CANCELLED') and failure_reason is not null))[1] as reason
    from order_items
    where tenant_id = $1 and order_id = any (array(select order_id from found))
    group by order_id, line_no
  )
  select f.order_id, ${sentTransactionId('f')} as transaction_id, f.order_type, f.topped_up_profile_id, f.order_status, f.amount, f.refunded_amount, f.currency_code, f.sent -> 'key' ->> 'label' as key_label,
    f.remark, f.package_lines, f.created_at, f.updated_at, c.counts
  from found f
  cross join lateral (
    select json_agg(json_build_object('deliveredCount', delivered, 'failedCount', failed, 'failureReason', reason)
      order by line_no) as counts
    from counted where order_id = f.order_id) c
  order by f.order_id desc`
}

interface Row {
  orderId: string
  transactionId: string
  orderType: OrderType
  toppedUpProfileId: string | null
  keyLabel: string | null
  orderStatus: OrderStatus
  amount: bigint
  refundedAmount: bigint
  currencyCode: string
  remark: string | null
  packageLines: PackageLine[]
  createdAt: Date
  updatedAt: Date
  /** One element per line, in the same order. */
  counts: Pick<OrderLine, 'deliveredCount' | 'failedCount' | 'failureReason'>[]
}

function summaryOf(row: Row): OrderSummary {
  return {
    orderNo: orderNoOf(row.orderId),
    transactionId: row.transactionId,
    orderType: row.orderType,
    orderStatus: row.orderStatus,
    amount: Number(row.amount),
    refundedAmount: Number(row.refundedAmount),
    currencyCode: row.currencyCode,
    remark: row.remark,
    esimTranNo: row.toppedUpProfileId,
    keyLabel: row.keyLabel,
    createTime: formatTime(row.createdAt),
    lastUpdateTime: formatTime(row.updatedAt),
    packageInfoList: row.packageLines.map((line, lineNo) => ({
      ...publicLineOf(line),
      ...row.counts[lineNo]!,
    })),
  }
}
