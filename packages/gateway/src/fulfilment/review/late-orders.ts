import type { DatabaseClock } from '@dealer-esim/lib/clock.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { firstUuidAt, LATEST_IDS_MS, timeOfId } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { createAlert } from '#alerts/create-alert.ts'
import { LATE_DEFAULT_MS, LATE_MIN_MS, lateAt, waitsForSupplier } from '#orders/reading/late-order.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'

const TIMES_P95 = 3
const LATE_MAX_MS = 86_400_000
/** Fewer deliveries say little about the usual delivery time. */
const DELIVERIES_MIN = 20
const DAY_MS = 86_400_000
/** How often the usual delivery times are computed from a day's deliveries. */
const COMPUTE_EVERY = '15 minutes'
/** Operators get at most one alert in this time while more orders become late. */
const ALERT_INTERVAL = '1 hour'
const COUNTED_MAX = 1_000

interface LateDeps {
  db: Db
  ids: Ids
  databaseClock: Pick<DatabaseClock, 'now'>
}

const LATE_AT = lateAt('o')
const WAITING = `orders o where ${waitsForSupplier('o')}`

/** Counts the orders that wait longer than usual, up to 1000. @param tenantId null: of all tenants */
export async function countLateOrders(db: Pick<Db, 'query'>, tenantId: string | null): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    text: `select count(*)::int as count from (
             select from ${WAITING} and ($1::uuid is null or o.tenant_id = $1) and ${LATE_AT} < now() limit ${COUNTED_MAX}) o`,
    values: [tenantId],
  })
  return row!.count
}

/** Alerts operators to orders that have become late since the last alert. @returns whether an alert was created */
export async function alertOfLateOrders(deps: LateDeps): Promise<boolean> {
  return deps.db.tx(async (tx) => {
    tx.send({ text: `select pg_advisory_xact_lock(${advisoryKey('late order alerts')})` })
    await computeUsual(tx, deps.databaseClock.now())
    const [last] = await tx.query<{ alertedAt: Date; isRecent: boolean }>({
      text: `select created_at as alerted_at, created_at > now() - interval '${ALERT_INTERVAL}' as is_recent from alerts
             where tenant_id = $1 and kind = 'ORDERS_LATE' order by alert_id desc limit 1`,
      values: [NIL_TENANT],
    })
    if (last?.isRecent) return false
    const late = await tx.query<{
      tenantId: string
      orderId: string
      entryNo: bigint
      clientName: string
      createdAt: Date
      isNew: boolean
    }>({
      text: `select tenant_id, order_id, wallet_version as entry_no, created_at, late_at > $1 as is_new,
               (select tenant_name from tenants t where t.tenant_id = o.tenant_id) as client_name
             from (select o.tenant_id, o.order_id, o.wallet_version, o.created_at, ${LATE_AT} as late_at from ${WAITING}) o
             where late_at < now() order by created_at limit ${COUNTED_MAX}`,
      values: [last?.alertedAt ?? new Date(0)],
    })
    if (!late.some(({ isNew }) => isNew)) return false
    const [oldest] = late
    const { tenantId, orderId, entryNo, clientName } = oldest!
    const count = late.length === COUNTED_MAX ? `${COUNTED_MAX} or more` : String(late.length)
    createAlert(tx, deps.ids, {
      kind: 'ORDERS_LATE',
      message: `Orders waiting longer than usual: ${count}. The oldest, #${entryNo} of ${clientName}, was paid at ${oldest!.createdAt.toISOString()}. Its page says who has not answered, and when they will be asked again.`,
      data: { orders: late.length, ...(late.length === 1 && { tenantId, orderId }) },
    })
    return true
  })
}

/** Computes each supplier's usual delivery time from the last day's deliveries. Does nothing if that was done recently. */
async function computeUsual(tx: Tx, nowMs: number): Promise<void> {
  const [state] = await tx.query<{ isRecent: boolean }>({
    text: `select not exists (select from supplier_states where late_after_at is null
             or late_after_at < now() - interval '${COMPUTE_EVERY}') as is_recent`,
  })
  if (state!.isRecent) return
  tx.send({
    text: `with usual as (
             select supplier, count(*) as deliveries, percentile_cont(0.95) within group (
               order by extract(epoch from finished_at - ${timeOfId('order_id')}) * 1000) as p95_ms
             from supplier_attempts
             where attempt_id >= $1 and attempt_id < $2 and outcome in ('delivered', 'toppedUp') group by 1)
           update supplier_states s set late_after_at = now(),
             late_after_ms = case when u.deliveries >= ${DELIVERIES_MIN}
               then least(${LATE_MAX_MS}, greatest(${LATE_MIN_MS}, ${TIMES_P95} * u.p95_ms))::int else ${LATE_DEFAULT_MS} end
           from suppliers x left join usual u using (supplier) where x.supplier = s.supplier`,
    values: [firstUuidAt(nowMs - DAY_MS), firstUuidAt(nowMs + LATEST_IDS_MS)],
  })
}
