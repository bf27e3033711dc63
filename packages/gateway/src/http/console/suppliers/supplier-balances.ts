import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { sentence } from '#people/languages/translate-answer.ts'
import { listUnexplainedDays } from '#suppliers/balance/balance-days.ts'
import { ALERT_BELOW_MAX, findBalance, setAlertBelow } from '#suppliers/balance/balance-state.ts'
import { type LocalDay, localDays } from '../home/local-days.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, time } from '../kernel/route-schemas.ts'

const balance = Type.Object({
  isStated: Type.Boolean({ description: 'false: the supplier states no balance, or cannot be used' }),
  amount: nullable(money()),
  currencyCode: nullable(Type.String({ description: 'null, like amount and readAt, if it was never read' })),
  readAt: nullable(time()),
  message: nullable(sentence('Why the latest reading failed; null: it did not')),
  alertBelow: nullable(money()),
  noMoneySince: nullable(
    Type.String({
      format: 'date-time',
      description: 'Since when it has refused purchases for lack of money; null: it does not',
    }),
  ),
  days: Type.Array(
    Type.Object({
      day: Type.String({ description: 'A day in the requested time zone' }),
      amount: nullable(Type.Integer({ description: 'The last one of the day, in the latest currency; null: none' })),
    }),
  ),
  unexplained: Type.Array(
    Type.Object({
      day: Type.String({ description: 'A UTC day' }),
      currencyCode: Type.String(),
      amount: Type.Integer({ description: 'Above zero: it fell by more than our purchases cost; below: by less' }),
    }),
    { description: 'Days whose purchases do not explain the change of the balance, the latest first' },
  ),
})
export type SupplierBalanceDetail = Static<typeof balance>

const params = Type.Object({ supplier: line(64) }, CLOSED)
const ZONE_LENGTH_MAX = 64
const DAYS_DEFAULT = 30

export const supplierBalanceRoutes: Route[] = [
  route('GET /suppliers/:supplier/balance', {
    access: OPERATORS,
    summary: 'The balance at a supplier as it was read last, and at the end of each day before',
    params,
    query: Type.Object(
      {
        days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90 })),
        timeZone: Type.Optional(Type.String({ maxLength: ZONE_LENGTH_MAX, description: 'UTC by default' })),
      },
      CLOSED,
    ),
    answer: balance,
    async handle({ deps }, { params: { supplier }, query }) {
      const days = localDays(deps.databaseClock.now(), query.days ?? DAYS_DEFAULT, query.timeZone ?? 'UTC')
      const known = await findBalance(deps.db, supplier)
      const amounts = await listDays(deps.db, supplier, known?.currencyCode ?? null, days)
      return {
        isStated: deps.suppliers.get(supplier)?.supplier.balance !== undefined,
        amount: known?.amount ?? null,
        currencyCode: known?.currencyCode ?? null,
        readAt: known?.readAt ?? null,
        message: known?.message ?? null,
        alertBelow: known?.alertBelow ?? null,
        noMoneySince: known?.noMoneySince ?? null,
        unexplained: (await listUnexplainedDays(deps.db, supplier, days.length)).map(({ unexplained, ...row }) => ({
          ...row,
          amount: Number(unexplained),
        })),
        days: days.map(({ day }) => ({ day, amount: amounts.get(day) ?? null })),
      }
    },
  }),
  route('PUT /suppliers/:supplier/balance/alert', {
    access: OPERATORS_WRITE,
    summary: 'Set the balance below which an alert is created; null: never',
    params,
    body: Type.Object({ alertBelow: nullable(Type.Integer({ minimum: 1, maximum: Number(ALERT_BELOW_MAX) })) }, CLOSED),
    handle: ({ deps, by }, { params, body: { alertBelow } }) =>
      setAlertBelow(deps, params.supplier, alertBelow === null ? null : BigInt(alertBelow), by),
  }),
]

/** The last balance of each day. Reads each with one index look-up. */
async function listDays(
  db: Pick<Db, 'query'>,
  supplier: string,
  currencyCode: string | null,
  days: readonly LocalDay[],
): Promise<Map<string, bigint>> {
  const rows = await db.query<{ day: string; amount: bigint }>(sql`
    select d.day, r.amount
    from unnest(${days.map(({ day }) => day)}::text[], ${days.map(({ startsAt }) => startsAt)}::timestamptz[],
      ${days.map((_, index) => days[index + 1]?.startsAt ?? null)}::timestamptz[]) as d(day, starts_at, ends_at)
    cross join lateral (
      select amount from supplier_balance_readings
      where supplier = ${supplier} and currency_code = ${currencyCode}
        and read_at >= d.starts_at and read_at < coalesce(d.ends_at, 'infinity')
      order by read_at desc limit 1) r`)
  return new Map(rows.map(({ day, amount }) => [day, amount]))
}
