import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { v7 } from 'uuid'
import { percentile } from './compare.ts'

/*
 * The baseline: what a careful engineer writes by hand. One prepared statement, round trip and transaction per order: a
 * guarded debit, the order, its item, the transfer and the event. It has the same tables, indexes and durability as ours;
 * only the unique key detects an earlier order. No HTTP, no signature, no admission.
 */
export const PLAIN_ORDER = `
  with debited as (
    update wallets set balance = balance - $4::bigint, version = version + 1, spent = spent + $4,
                       spent_on = current_date, updated_at = clock_timestamp()
    where tenant_id = $1::uuid and balance + credit_limit >= $4
    returning balance, version, currency_code, updated_at
  ), ordered as (
    insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
      wallet_version, package_lines, status_history, event_sequence, due_at, created_at, updated_at)
    select $1, $2::uuid, $3::text, 'PAID', $4, currency_code, balance, version, $5::jsonb,
      jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', updated_at)), 1,
      updated_at, updated_at, updated_at from debited
  ), item as (
    insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
    select $1, $2, 1, 0, 'JP_1_7', $4, updated_at from debited
  ), entered as (
    insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after, order_id, created_at)
    select $1, version, 'ORDER', 'WALLET', 'SALES', $4, balance, $2, updated_at from debited
  ), recorded as (
    insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at)
    select $1, $6::uuid, 'ORDER_PAID', $2, $7::json, updated_at from debited
  ), to_deliver as (
    insert into deliveries (tenant_id, notify_id, delivery_state) select $1, $6, 'UNSENT' from debited
  )
  select balance from debited`

const LINES = JSON.stringify([{ packageCode: 'JP_1_7', packageName: 'Japan, 1 GB, 7 days', count: 1, price: 45000 }])
const CONTENT = JSON.stringify({
  ...{
    orderNo: '01M7YRE9Q4E33AHXWPB8DQJVWF',
    transactionId: randomUUID(),
    orderStatus: 'PAID',
    sequence: 1,
    amount: 45000,
  },
  ...{ currencyCode: 'USD', balanceAfter: 9000000000000, packageInfoList: JSON.parse(LINES) },
})

/** The planner options of the gateway's own connections: one plan per statement, by index even on small tables. */
export const PLAIN_OPTIONS = '-c jit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

/** Orders placed on each connection before the clock starts. */
const WARM_UP_ORDERS = 25

/** Places `count` orders, one per call, over `connections` connections, on each wallet in turn. */
export async function placeWithPlainSql(url: string, tenantIds: string[], count: number, connections: number) {
  const pool = new pg.Pool({ connectionString: url, max: connections, options: PLAIN_OPTIONS })
  pool.on('error', () => {}) // idle connections are lost when the server stops
  let next = 0
  let placed = 0
  const timesMs: number[] = []
  const place = async (client: pg.PoolClient, index: number) => {
    const values = [tenantIds[index % tenantIds.length], v7(), randomUUID(), '45000', LINES, v7(), CONTENT]
    const { rowCount } = await client.query({ name: 'plain-order', text: PLAIN_ORDER, values })
    return rowCount ?? 0
  }
  const worker = async (client: pg.PoolClient) => {
    for (let index = next++; index < count; index = next++) {
      const start = performance.now()
      const rows = await place(client, index) // `placed += await` would lose what others placed meanwhile
      placed += rows
      timesMs.push(performance.now() - start)
    }
    client.release()
  }
  // Connecting, preparing and warming up new server processes are not part of the figure.
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()))
  for (let warmed = 0; warmed < WARM_UP_ORDERS; warmed++) await Promise.all(clients.map(place))
  const start = performance.now()
  await Promise.all(clients.map(worker))
  const seconds = (performance.now() - start) / 1000
  await pool.end()
  if (placed !== count) throw new Error(`The baseline placed ${placed} of ${count}`)
  timesMs.sort((left, right) => left - right)
  return { perSecond: count / seconds, p50Ms: percentile(timesMs, 0.5), p99Ms: percentile(timesMs, 0.99) }
}
