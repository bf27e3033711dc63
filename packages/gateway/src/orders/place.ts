import type { OrderPaidContent } from '@dealer-esim/contract'
import type { Catalogue, Offer } from '../catalogue/catalogue.ts'
import type { Tx } from '../lib/db.ts'
import { type Ids, orderNoOf } from '../lib/ids.ts'
import { pause } from '../lib/pause.ts'
import { debitWallets } from '../wallet/debit.ts'
import { type LockedWallet, lockWallets } from '../wallet/lock.ts'
import { tellLowBalance } from '../wallet/low-balance-notice.ts'
import { recordEvents } from '../webhooks/record.ts'
import {
  decideOrders,
  type ExistingOrder,
  type OrderWish,
  type PackageLine,
  type PlacedOrder,
  type Verdict,
} from './decide.ts'

export interface PlaceDeps {
  ids: Ids
  catalogue: Catalogue
  stock: { available(offer: Offer): number | undefined }
}

/**
 * Places the orders of several wallets in one transaction; every order gets its own verdict, in its own place. Order,
 * debit, items, entries and event commit together or not at all.
 *
 * Locks: the wallets' rows, in ascending tenant order; nothing else of an order exists before its commit. What is read
 * is read after the locks and by a statement of its own: the snapshot of a statement is older
 * than the lock that it waits for, and would not see the orders of the transaction that it waited for.
 *
 * Two round trips hold the locks, whatever the number of orders: locks and reads, then writes and COMMIT.
 */
export async function placeOrders(tx: Tx, deps: PlaceDeps, wishes: OrderWish[]): Promise<Verdict[]> {
  const byTenant = groupByTenant(wishes)
  const [wallets, around] = await Promise.all([lockWallets(tx, [...byTenant.keys()]), readAround(tx, wishes)])
  const { now, catalogueVersion, existing } = around
  const catalogue = await deps.catalogue.current(catalogueVersion)
  await pause('orders.locked')

  const verdicts = new Map<OrderWish, Verdict>()
  const touched: LockedWallet[] = []
  const placed: PlacedOrder[] = []
  for (const wallet of wallets) {
    const ofTenant = byTenant.get(wallet.tenantId)!
    const stepBefore = wallet.lowBalanceStep
    const decided = decideOrders(wallet, ofTenant, {
      now: later(now, wallet.updatedAt), // created_at never goes back within a wallet
      catalogue,
      existing: existing.get(wallet.tenantId) ?? new Map(),
      available: deps.stock.available,
    })
    for (const [position, wish] of ofTenant.entries()) verdicts.set(wish, decided.verdicts[position]!)
    if (decided.placed.length > 0) touched.push(wallet)
    tellLowBalance(tx, deps.ids, { ...wallet, step: wallet.lowBalanceStep, stepBefore })
    placed.push(...decided.placed)
  }
  if (placed.length > 0) write(tx, deps.ids, touched, placed)
  await pause('orders.before-commit')
  return wishes.map((wish) => verdicts.get(wish)!)
}

function groupByTenant(wishes: OrderWish[]): Map<string, OrderWish[]> {
  const byTenant = new Map<string, OrderWish[]>()
  for (const wish of wishes) {
    const ofTenant = byTenant.get(wish.tenant.tenantId)
    if (ofTenant) ofTenant.push(wish)
    else byTenant.set(wish.tenant.tenantId, [wish])
  }
  return byTenant
}

function later(left: Date, right: Date): Date {
  return left > right ? left : right
}

interface Around {
  now: Date
  catalogueVersion: bigint
  existing: Map<string, Map<string, ExistingOrder>>
}

async function readAround(tx: Tx, wishes: OrderWish[]): Promise<Around> {
  const reading = tx.query<{ now: Date; version: bigint }>({
    name: 'orders-now',
    text: `select date_trunc('milliseconds', clock_timestamp()) as now, version from catalogue_version`,
  })
  const looking = tx.query<ExistingRow>({
    name: 'orders-existing',
    text: `select o.* from unnest($1::uuid[], $2::text[]) as wish(tenant_id, transaction_id)
           cross join lateral (
             select tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
                    package_lines, created_at
             from orders where tenant_id = wish.tenant_id and transaction_id = wish.transaction_id
             limit 1 -- keeps the plan an index look-up for each, whatever the statistics say
           ) o`,
    values: [wishes.map((wish) => wish.tenant.tenantId), wishes.map((wish) => wish.request.transactionId)],
  })
  const [[at], rows] = await Promise.all([reading, looking])
  const existing = new Map<string, Map<string, ExistingOrder>>()
  for (const row of rows) {
    const ofTenant = existing.get(row.tenant_id) ?? new Map<string, ExistingOrder>()
    existing.set(row.tenant_id, ofTenant.set(row.transaction_id, existingOf(row)))
  }
  return { now: at!.now, catalogueVersion: at!.version, existing }
}

interface ExistingRow {
  tenant_id: string
  order_id: string
  transaction_id: string
  order_status: ExistingOrder['orderStatus']
  amount: bigint
  currency_code: string
  balance_after: bigint
  package_lines: PackageLine[]
  created_at: Date
}

function existingOf(row: ExistingRow): ExistingOrder {
  return {
    orderId: row.order_id,
    transactionId: row.transaction_id,
    orderStatus: row.order_status,
    amount: row.amount,
    currencyCode: row.currency_code,
    balanceAfter: row.balance_after,
    packageLines: row.package_lines,
    createdAt: row.created_at,
  }
}

function write(tx: Tx, ids: Ids, wallets: LockedWallet[], placed: PlacedOrder[]): void {
  debitWallets(tx, wallets, placed)
  insertOrders(tx, placed)
  recordEvents(
    tx,
    placed.map((order) => ({
      tenantId: order.tenantId,
      notifyId: ids.uuid(),
      notifyType: 'ORDER_PAID' as const,
      orderId: order.orderId,
      content: paidContent(order),
      createdAt: order.createdAt,
    })),
  )
}

/** Orders and their items, from one JSON text: one parse in the database, whatever the number. */
function insertOrders(tx: Tx, placed: PlacedOrder[]): void {
  tx.send({
    name: 'orders-insert',
    text: `with placed as materialized (
        select * from jsonb_to_recordset($1::jsonb) as p(
          "tenantId" uuid, "orderId" uuid, "transactionId" text, amount bigint, "currencyCode" text,
          "balanceAfter" bigint, "walletVersion" bigint, "packageLines" jsonb, remark text, "createdAt" timestamptz)
      ), ordered as (
        insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
          wallet_version, package_lines, remark, status_history, event_sequence, due_at, created_at, updated_at)
        select "tenantId", "orderId", "transactionId", 'PAID', amount, "currencyCode", "balanceAfter",
          "walletVersion", "packageLines", remark,
          jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', "createdAt")), 1,
          "createdAt", "createdAt", "createdAt"
        from placed
      )
      insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
      select "tenantId", "orderId", row_number() over (partition by "tenantId", "orderId" order by line.ordinality, n),
        line.ordinality - 1, line.value ->> 'packageCode', (line.value ->> 'price')::bigint, "createdAt"
      from placed
      cross join lateral jsonb_array_elements("packageLines") with ordinality as line
      cross join lateral generate_series(1, (line.value ->> 'count')::int) as n`,
    values: [JSON.stringify(placed.map(rowOf))],
  })
}

/** A replacer function for the bigints would cost more than the rest of the text. */
function rowOf(order: PlacedOrder) {
  return {
    ...order,
    amount: String(order.amount),
    balanceAfter: String(order.balanceAfter),
    walletVersion: String(order.walletVersion),
  }
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
