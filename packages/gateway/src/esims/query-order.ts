import {
  formatTime,
  type OrderLine,
  type OrderStatus,
  type OrderType,
  orderIdOf,
  orderNoOf,
  type QueryAnswer,
  type QueryRequest,
} from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { type ItemStatus, type PackageLine, publicLineOf } from '#orders/order-item.ts'
import { sentTransactionId } from '#orders/transaction-id.ts'
import { tenantNow } from '#platform/test-time.ts'
import type { StoredSend } from './actions/earlier-use.ts'
import { type ProfileReadDeps, type ProfileRow, profileColumns, toProfile } from './profile.ts'
import { sendOf } from './sends/send-esim.ts'

/**
 * The answer of `esim/query`: one order with its lines, eSIMs and history, read in one snapshot. If both orderNo and
 * transactionId are given, both must match.
 * @param known the tenant, as the request has read it. Without it, its offset to test time is looked up.
 * @throws ApiError 200013 if the tenant has no such order.
 */
export async function getOrderWithProfiles(
  deps: ProfileReadDeps & { db: Db },
  tenantId: string,
  { orderNo, transactionId }: QueryRequest,
  known?: { testOffsetMs: number },
): Promise<QueryAnswer> {
  const orderId = orderNo === undefined ? null : orderIdOf(orderNo)
  if (orderId === undefined) throw new ApiError('200013')
  const [name, where] =
    orderId === null ? ['orders-query-transaction', BY_TRANSACTION] : ['orders-query-order', BY_ORDER]
  const rows = await deps.db.query<Row>({
    ...(known?.testOffsetMs === 0
      ? { name, text: `${select('now()')} ${where}` }
      : { name: `${name}-test`, text: `${select(tenantNow('$1'))} ${where}` }),
    values: [tenantId, orderId, transactionId ?? null],
  })
  const [order] = rows
  if (!order) throw new ApiError('200013')
  return answerOf(deps, tenantId, order, rows)
}

/** The order's columns, repeated in each row, and those of a profile, which are null if the order has no profile. */
type Row = OrderColumns & (Omit<ProfileRow, 'line' | 'transactionId'> | { profileId: null })

interface OrderColumns {
  ofOrderId: string
  ofTransactionId: string
  orderType: OrderType
  toppedUpProfileId: string | null
  keyLabel: string | null
  orderStatus: OrderStatus
  amount: bigint
  refundedAmount: bigint
  currencyCode: string
  remark: string | null
  packageLines: PackageLine[]
  statusHistory: { orderStatus: OrderStatus; time: string }[]
  ofCreatedAt: Date
  ofUpdatedAt: Date
  /** The items in the order of their numbers: the index is itemNo - 1. */
  items: { lineNo: number; itemStatus: ItemStatus; failureReason: string | null }[]
  itemNo: number | null
  /** Newest first; null: none. */
  sends:
    | (Omit<StoredSend, 'iccid' | 'traveller' | 'createdAt' | 'updatedAt'> &
        Record<'createdAt' | 'updatedAt', string>)[]
    | null
}

// One statement, and therefore one snapshot: status, counts and profiles never contradict each other.
/** @param now SQL: the present of the tenant */
const select = (now: string): string => `
  select o.order_id as of_order_id, ${sentTransactionId('o')} as of_transaction_id, o.order_type, o.topped_up_profile_id, o.order_status, o.amount, o.refunded_amount,
    o.currency_code, o.sent -> 'key' ->> 'label' as key_label, o.remark, o.package_lines, o.status_history, o.created_at as of_created_at,
    o.updated_at as of_updated_at, i.items, sent.sends, p.item_no, ${profileColumns(now)}
  from orders o
  cross join lateral (
    select json_agg(json_build_object('lineNo', line_no, 'itemStatus', item_status, 'failureReason', failure_reason)
      order by item_no) as items
    from order_items where tenant_id = o.tenant_id and order_id = o.order_id) i
  cross join lateral (
    select json_agg(json_build_object('sendId', send_id, 'transactionId', transaction_id, 'startedBy', started_by,
      'profileId', of.profile_id, 'sendStatus', send_status, 'createdAt', s.created_at, 'updatedAt', s.updated_at)
      order by s.created_at desc, send_id desc) as sends
    -- A send has an esimTranNo once its eSIM is there, a little before its e-mail is queued.
    from esim_sends s join profiles of on of.tenant_id = s.tenant_id and of.order_id = s.order_id and of.item_no = s.item_no
    where s.tenant_id = o.tenant_id and s.order_id = o.order_id) sent
  left join profiles p on p.tenant_id = o.tenant_id and p.order_id = o.order_id
  where o.tenant_id = $1`
const BY_ORDER = 'and o.order_id = $2 and ($3::text is null or o.transaction_id = $3) order by p.item_no'
const BY_TRANSACTION = 'and o.transaction_id = $3 and $2::uuid is null order by p.item_no'

function answerOf(deps: ProfileReadDeps, tenantId: string, order: OrderColumns, rows: readonly Row[]): QueryAnswer {
  const profileList = rows.flatMap((row) => {
    if (row.profileId === null) return []
    const line = order.packageLines[order.items[row.itemNo! - 1]!.lineNo]!
    return [toProfile(deps, tenantId, { ...row, transactionId: order.ofTransactionId, line })]
  })
  return {
    orderNo: orderNoOf(order.ofOrderId),
    transactionId: order.ofTransactionId,
    orderType: order.orderType,
    orderStatus: order.orderStatus,
    amount: Number(order.amount),
    refundedAmount: Number(order.refundedAmount),
    currencyCode: order.currencyCode,
    remark: order.remark,
    esimTranNo: order.toppedUpProfileId,
    keyLabel: order.keyLabel,
    createTime: formatTime(order.ofCreatedAt),
    lastUpdateTime: formatTime(order.ofUpdatedAt),
    packageInfoList: order.packageLines.map((line, lineNo) => lineOf(line, lineNo, order.items)),
    profileList,
    sendList: (order.sends ?? []).map((one) =>
      sendOf({ ...one, createdAt: new Date(one.createdAt), updatedAt: new Date(one.updatedAt) }),
    ),
    statusHistory: order.statusHistory.map(({ orderStatus, time }) => ({
      orderStatus,
      time: formatTime(new Date(time)), // the database writes its own form of RFC 3339
    })),
  }
}

function lineOf(line: PackageLine, lineNo: number, items: OrderColumns['items']): OrderLine {
  const own = items.filter((item) => item.lineNo === lineNo)
  const failed = own.filter((item) => item.itemStatus === 'REFUSED' || item.itemStatus === 'CANCELLED')
  return {
    ...publicLineOf(line),
    deliveredCount: own.filter((item) => item.itemStatus === 'DELIVERED').length,
    failedCount: failed.length,
    failureReason: failed.find((item) => item.failureReason !== null)?.failureReason ?? null,
  }
}
