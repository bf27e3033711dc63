import { formatMoney } from '@dealer-esim/contract'
import { firstUuidAt, type Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { createAlert } from '#alerts/create-alert.ts'

/** A UTC day on which a balance changed for reasons other than our purchases. */
export interface UnexplainedDay {
  /** `2026-11-19` */
  day: string
  currencyCode: string
  /** In 1/10 000. Positive: the balance fell by more than the purchases cost. Negative: it fell by less. */
  unexplained: bigint
}

const DAY_MS = 24 * 3_600_000
/** How long after its answer a supplier may still debit, or a reading may still lack the debit. */
const LATE_DEBIT_MAX_MS = 15 * 60_000

/**
 * Compares yesterday's fall in a balance with the charges for yesterday's purchases, once, as soon as there is a reading
 * from today. Creates an alert if they differ. Rises do not count: they are the operator's top-ups, or eSIMs that were
 * cancelled. A purchase in progress during a reading counts on both sides, so the comparison errs towards “explained”.
 */
export async function checkYesterday(deps: { db: Db; ids: Ids }, supplier: string): Promise<void> {
  const due = await findDue(deps.db, supplier)
  if (due === undefined) return
  await deps.db.tx(async (tx) => {
    const bought = await sumPurchases(tx, supplier, due)
    const { day, currencyCode, fell, rose } = due
    const unexplained = compare(due, bought)
    const inserted = await tx.query({
      text: `insert into supplier_balance_days (supplier, day, currency_code, fell, rose, bought_min, bought_max, unexplained)
             values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning supplier`,
      values: [supplier, day, currencyCode, fell, rose, bought.min, bought.max, unexplained],
    })
    if (inserted.length === 0 || unexplained === null || unexplained === 0n) return
    const expected = unexplained > 0n ? bought.max : bought.min
    createAlert(tx, deps.ids, {
      kind: 'SUPPLIER_CHARGES',
      message: `On ${day} (UTC) your balance at ${supplier} fell by ${formatMoney(fell)} ${currencyCode}, but the purchases of this gateway cost ${formatMoney(expected)} ${currencyCode}: ${differenceText({ day, currencyCode, unexplained })}. Somebody else may be buying with this account, or the gateway may not read its charges correctly. Compare the purchases with the supplier's own list, or run supplier verify.`,
      data: { supplier, day, unexplained: Number(unexplained), currencyCode },
    })
  })
}

export function differenceText({ unexplained, currencyCode }: UnexplainedDay): string {
  const isMore = unexplained > 0n
  return `${formatMoney(isMore ? unexplained : -unexplained)} ${currencyCode} ${isMore ? 'more' : 'less'} is unexplained`
}

/** Lists the unexplained days, latest first. */
export function listUnexplainedDays(db: Pick<Db, 'query'>, supplier: string, days = 30): Promise<UnexplainedDay[]> {
  return db.query<UnexplainedDay>({
    text: `select to_char(day, 'YYYY-MM-DD') as day, currency_code, unexplained from supplier_balance_days
           where supplier = $1 and unexplained <> 0 and day > (now() at time zone 'utc')::date - $2::int
           order by 1 desc`,
    values: [supplier, days],
  })
}

/** The change in a balance between the last reading before a day and the first one after it. */
interface DueDay {
  day: string
  currencyCode: string
  opensAt: Date
  closesAt: Date
  fell: bigint
  rose: bigint
}

async function findDue(db: Pick<Db, 'query'>, supplier: string): Promise<DueDay | undefined> {
  const [due] = await db.query<DueDay>({
    text: `
      with yesterday as (
        select day, day at time zone 'utc' as starts_at, (day + 1) at time zone 'utc' as ends_at
        from (select (now() at time zone 'utc')::date - 1 as day) d
        where not exists (select from supplier_balance_days b where b.supplier = $1 and b.day = d.day)
      ), bounds as (
        select y.*,
          (select max(read_at) from supplier_balance_readings where supplier = $1 and read_at < y.starts_at
             and read_at >= y.starts_at - interval '1 day') as last_before,
          (select min(read_at) from supplier_balance_readings where supplier = $1 and read_at >= y.ends_at) as first_after
        from yesterday y
      ), changes as (
        select b.day, r.read_at, r.currency_code, r.amount - lag(r.amount) over (order by r.read_at) as change
        from bounds b join supplier_balance_readings r on r.supplier = $1
          and r.read_at between coalesce(b.last_before, b.starts_at) and b.first_after
      )
      select to_char(day, 'YYYY-MM-DD') as day, min(currency_code) as currency_code,
        min(read_at) as opens_at, max(read_at) as closes_at,
        coalesce(sum(greatest(-change, 0)), 0)::bigint as fell, coalesce(sum(greatest(change, 0)), 0)::bigint as rose
      from changes group by 1 having count(*) > 1 and count(distinct currency_code) = 1`,
    values: [supplier],
  })
  return due
}

interface Purchases {
  min: bigint
  max: bigint
  /** A purchase has no known charge, or its charge is in another currency. */
  hasUnknown: boolean
  hasCancelled: boolean
}

/**
 * Sums the charges, or the costs where the supplier states no charge. Each item counts once, however many times it was
 * requested.
 */
async function sumPurchases(tx: Tx, supplier: string, { opensAt, closesAt, currencyCode }: DueDay): Promise<Purchases> {
  const [sums] = await tx.query<Purchases>({
    text: `
      with attempts as (
        select a.*, i.supplier_charge, i.supplier_charge_currency, i.supplier = a.supplier as is_charged,
          a.cost * coalesce((o.package_lines -> i.line_no ->> 'periodNum')::int, 1) as catalogue_cost
        from supplier_attempts a
        join order_items i on i.tenant_id = a.tenant_id and i.order_id = a.order_id and i.item_no = a.item_no
        join orders o on o.tenant_id = a.tenant_id and o.order_id = a.order_id
        where a.supplier = $1 and a.attempt_id >= $4 and a.attempt_id < $5
          and a.operation in ('ORDER', 'TOPUP', 'CANCEL') and coalesce(a.outcome, '') not in ('refused', 'retry')
          and a.started_at <= $3 and coalesce(a.finished_at, 'infinity') >= $2::timestamptz - $6 * interval '1 millisecond'
      ), items as (
        select tenant_id, order_id, item_no,
          -- A charge of 0 was given back, so the balance fell first.
          max(case when is_charged and supplier_charge > 0 then supplier_charge else catalogue_cost end) as charge,
          max(case when is_charged and supplier_charge is not null then supplier_charge_currency else cost_currency end)
            as currency,
          bool_or(outcome in ('delivered', 'toppedUp') and started_at > $2
            and finished_at < $3::timestamptz - $6 * interval '1 millisecond') as is_certain
        from attempts where operation <> 'CANCEL' group by 1, 2, 3
      ), verified as (
        select coalesce(sum(cost), 0) as cost from supplier_verifications
        where supplier = $1 and started_at <= $3 and coalesce(finished_at, 'infinity') >= $2 and state <> 'REFUSED'
      )
      select coalesce(sum(charge) filter (where is_certain), 0)::bigint as min,
        (coalesce(sum(charge), 0) + (select cost from verified))::bigint as max,
        coalesce(bool_or(charge is null or currency is distinct from $7), false) as has_unknown,
        exists (select from attempts where operation = 'CANCEL') as has_cancelled
      from items`,
    values: [
      ...[supplier, opensAt, closesAt],
      ...[firstUuidAt(opensAt.getTime() - DAY_MS), firstUuidAt(closesAt.getTime() + DAY_MS)],
      ...[LATE_DEBIT_MAX_MS, currencyCode],
    ],
  })
  return sums!
}

/** Pure: the part of the change that is not explained by purchases. null: the comparison is not possible. */
function compare({ fell, rose }: DueDay, { min, max, hasUnknown, hasCancelled }: Purchases): bigint | null {
  if (hasUnknown) return null
  if (fell > max) return fell - max
  return rose === 0n && !hasCancelled && fell < min ? fell - min : 0n
}
