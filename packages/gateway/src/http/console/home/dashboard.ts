import Type, { type Static } from 'typebox'
import { type Context, EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, money, nullable, uuid } from '../kernel/route-schemas.ts'
import {
  countAttention,
  countedDays,
  listBalances,
  listOrderDays,
  listSupplierFigures,
  listWebhookDays,
} from './dashboard-figures.ts'
import { localDays, localDaysBetween } from './local-days.ts'

const day = { day: Type.String({ description: 'A day in the requested time zone' }) }
const count = () => Type.Integer({ minimum: 0 })
const duration = () => nullable(Type.Integer({ description: 'ms' }))

const dashboard = Type.Object({
  attention: Type.Object({
    underReview: count(),
    deadEvents: count(),
    lowBalances: count(),
    failingEndpoints: count(),
    lowStock: count(),
    orphans: count(),
    adjustments: count(),
    topUpRequests: count(),
    failingSuppliers: count(),
    recoveries: Type.Integer({ minimum: 0, description: 'Restores whose recovery has not ended' }),
    lateOrders: Type.Integer({ minimum: 0, description: 'Orders that wait longer than usual, up to 1000' }),
  }),
  days: Type.Array(Type.String({ description: 'Every day of the period' })),
  countedDays: Type.Integer({
    minimum: 0,
    description:
      'Events and attempts at suppliers are those of so many of the latest days: earlier ones are too many to count',
  }),
  orders: Type.Array(
    Type.Object({
      ...day,
      orders: count(),
      delivered: count(),
      failed: count(),
      p50_ms: duration(),
      p95_ms: duration(),
    }),
  ),
  sales: Type.Array(Type.Object({ ...day, currencyCode: Type.String(), amount: money() })),
  webhooks: Type.Array(Type.Object({ ...day, delivered: count(), dead: count(), pending: count(), unsent: count() })),
  suppliers: Type.Array(
    Type.Object({
      supplier: Type.String(),
      delivered: count(),
      refused: count(),
      unknown: count(),
      p50_ms: duration(),
    }),
  ),
  balances: Type.Array(Type.Object({ currencyCode: Type.String(), tenants: count(), balance: money() })),
})
export type Dashboard = Static<typeof dashboard>

const ZONE_LENGTH_MAX = 64
const DAYS_MAX = 92
const DAYS_DEFAULT = 14
const DAY = '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$'

export const dashboardRoutes: Route[] = [
  route('GET /dashboard', {
    access: EVERY_ROLE,
    summary: 'What needs attention, and the figures of a period',
    query: Type.Object(
      {
        days: Type.Optional(Type.Integer({ minimum: 1, maximum: DAYS_MAX })),
        from: Type.Optional(Type.String({ pattern: DAY, description: 'First day, instead of `days`' })),
        to: Type.Optional(Type.String({ pattern: DAY, description: 'Last day' })),
        tenantId: Type.Optional(uuid()),
        timeZone: Type.Optional(
          Type.String({
            maxLength: ZONE_LENGTH_MAX,
            description: 'The time zone of the days, such as Europe/Vienna. UTC by default',
          }),
        ),
      },
      CLOSED,
    ),
    answer: dashboard,
    handle: (context, { query }) => getDashboard(context, query),
  }),
]

interface Query {
  days?: number
  from?: string
  to?: string
  tenantId?: string
  timeZone?: string
}

/** @throws Refusal */
function periodOf(nowMs: number, { days = DAYS_DEFAULT, from, to, timeZone = 'UTC' }: Query) {
  if (from === undefined && to === undefined) return { days: localDays(nowMs, days, timeZone), end: undefined }
  const { days: between, end } = localDaysBetween(from ?? '', to ?? '', timeZone, DAYS_MAX)
  return { days: between, end: end.startsAt }
}

async function getDashboard({ deps, onlyTenant }: Context, query: Query) {
  const { db } = deps
  const { days, end } = periodOf(deps.databaseClock.now(), query)
  const tenantId = onlyTenant ?? query.tenantId ?? null
  const scope = { tenantId, days, end }
  const [attention, orders, money] = await Promise.all([
    countAttention(db, tenantId),
    listOrderDays(db, scope),
    listBalances(db, tenantId),
  ])
  const counted = countedDays(days, orders)
  const latest = { ...scope, days: counted }
  const isEmpty = counted.length === 0
  const [webhooks, suppliers] = await Promise.all([
    isEmpty ? [] : listWebhookDays(db, latest),
    isEmpty || tenantId !== null ? [] : listSupplierFigures(db, latest),
  ])
  return {
    attention,
    days: days.map(({ day }) => day),
    countedDays: counted.length,
    orders: orders.map(({ p50Ms, p95Ms, amounts: _, ...row }) => ({ ...row, p50_ms: p50Ms, p95_ms: p95Ms })),
    sales: orders.flatMap(({ day, amounts }) => amounts.map((amount) => ({ day, ...amount }))),
    webhooks,
    suppliers: suppliers.map(({ p50Ms, ...row }) => ({ ...row, p50_ms: p50Ms })),
    balances: money,
  }
}
