import type { OrderPaidContent } from '@dealer-esim/contract'
import { type Columns, jsonArray, plainArray, textArray, timeArray, unnest, uuidArray } from '../lib/columns.ts'
import type { Tx } from '../lib/db.ts'
import { type Ids, orderNoOf } from '../lib/ids.ts'
import { DEBITS_OF_PLACED, movedValues, moveWallets } from '../wallet/debit.ts'
import type { LockedWallet } from '../wallet/lock.ts'
import { recordEventsOf } from '../webhooks/record.ts'
import type { PlacedOrder } from './decide.ts'

/**
 * Writes what a batch has placed: orders, items, debits, events and what is left of the wallets, by one statement
 * without a round trip of its own. The caller holds the wallets' row locks, so nothing here waits for a lock: all other
 * rows are new. After the commit the caller wakes fulfilment and the sender.
 *
 * Measured, in µs of the server's time an order, for a lone one, 16 of 16 wallets, 64 of one wallet and 64 of 64: 617,
 * 145, 74 and 90; by a statement a table and JSON for orders and items 894, 157, 88 and 105; by this statement over
 * jsonb_to_recordset 829, 158, 91 and 107.
 */
export function writePlaced(tx: Tx, ids: Ids, wallets: readonly LockedWallet[], placed: readonly PlacedOrder[]): void {
  if (placed.length === 0) return
  const values = [...placedValues(ids, placed), ...lineValues(placed), ...movedValues(wallets)]
  tx.send({ name: 'orders-write', text: WRITE, values })
}

const PLACED: Columns = {
  tenant_id: 'uuid',
  order_id: 'uuid',
  transaction_id: 'text',
  amount: 'bigint',
  currency_code: 'text',
  balance_after: 'bigint',
  wallet_version: 'bigint',
  package_lines: 'jsonb',
  remark: 'text',
  created_at: 'timestamptz',
  notify_id: 'uuid',
  content: 'json',
}

/** One for each line of an order: its items are numbered from first_item to last_item. */
const LINES: Columns = {
  tenant_id: 'uuid',
  order_id: 'uuid',
  first_item: 'integer',
  last_item: 'integer',
  line_no: 'smallint',
  package_code: 'text',
  price: 'bigint',
  created_at: 'timestamptz',
}

const LINES_FIRST = Object.keys(PLACED).length + 1
const WALLETS_FIRST = LINES_FIRST + Object.keys(LINES).length

const WRITE = `
with placed as materialized (
  select placed.*, 'ORDER_PAID' as notify_type from ${unnest(1, PLACED, 'placed')}
), ordered as (
  insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
    wallet_version, package_lines, remark, status_history, event_sequence, due_at, created_at, updated_at)
  select tenant_id, order_id, transaction_id, 'PAID', amount, currency_code, balance_after, wallet_version,
    package_lines, remark, jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', created_at)), 1,
    created_at, created_at, created_at
  from placed
), itemised as (
  insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
  select tenant_id, order_id, generate_series(first_item, last_item), line_no, package_code, price, created_at
  from ${unnest(LINES_FIRST, LINES, 'line')}
), debited as (${DEBITS_OF_PLACED}
), told as (${recordEventsOf('placed')}
)${moveWallets(WALLETS_FIRST)}`

function placedValues(ids: Ids, placed: readonly PlacedOrder[]): (string | Buffer)[] {
  return [
    uuidArray(placed.map((order) => order.tenantId)),
    uuidArray(placed.map((order) => order.orderId)),
    textArray(placed.map((order) => order.transactionId)),
    plainArray(placed.map((order) => order.amount)),
    plainArray(placed.map((order) => order.currencyCode)),
    plainArray(placed.map((order) => order.balanceAfter)),
    plainArray(placed.map((order) => order.walletVersion)),
    jsonArray(placed.map((order) => JSON.stringify(order.packageLines))),
    textArray(placed.map((order) => order.remark)),
    timeArray(placed.map((order) => order.createdAt.getTime())),
    uuidArray(placed.map(() => ids.uuid())),
    jsonArray(placed.map((order) => JSON.stringify(paidContent(order)))),
  ]
}

function lineValues(placed: readonly PlacedOrder[]): (string | Buffer)[] {
  const lines = placed.flatMap((order) => {
    let items = 0
    return order.packageLines.map(({ packageCode, count, price }, lineNo) => {
      items += count
      return { order, first: items - count + 1, last: items, lineNo, packageCode, price }
    })
  })
  return [
    uuidArray(lines.map(({ order }) => order.tenantId)),
    uuidArray(lines.map(({ order }) => order.orderId)),
    plainArray(lines.map((line) => line.first)),
    plainArray(lines.map((line) => line.last)),
    plainArray(lines.map((line) => line.lineNo)),
    textArray(lines.map((line) => line.packageCode)),
    plainArray(lines.map((line) => line.price)),
    timeArray(lines.map(({ order }) => order.createdAt.getTime())),
  ]
}

function paidContent(order: PlacedOrder): OrderPaidContent {
  return {
    orderNo: orderNoOf(order.orderId),
    transactionId: order.transactionId,
    orderStatus: order.orderStatus,
    sequence: 1,
    amount: Number(order.amount),
    currencyCode: order.currencyCode,
    balanceAfter: Number(order.balanceAfter),
    packageInfoList: order.packageLines,
  }
}
