import Type, { type Static } from 'typebox'
import { type Context, EVERY_ROLE, type Route, route } from '../../kernel/route.ts'
import { CLOSED, money, nullable } from '../../kernel/schemas.ts'
import {
  countAttention,
  listBalances,
  listOrderDays,
  listSalesDays,
  listSupplierFigures,
  listWebhookDays,
} from './dashboard-figures.ts'
import { localDays } from './local-days.ts'

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
  }),
  days: Type.Array(Type.String({ description: 'Every day of the period' })),
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

export const dashboardRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/dashboard',
    access: EVERY_ROLE,
    summary: 'What needs attention, and the figures of a period',
    query: Type.Object(
      {
        days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90 })),
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
    handle: (context, { query }) => getDashboard(context, query.days ?? 14, query.timeZone ?? 'UTC'),
  }),
]

async function getDashboard({ deps, onlyTenant }: Context, length: number, timeZone: string) {
  const { db } = deps
  const days = localDays(deps.databaseClock.now(), length, timeZone)
  const scope = { tenantId: onlyTenant, days }
  const [attention, orders, sales, webhooks, suppliers, money] = await Promise.all([
    countAttention(db, onlyTenant),
    listOrderDays(db, scope),
    listSalesDays(db, scope),
    listWebhookDays(db, scope),
    onlyTenant === null ? listSupplierFigures(db, scope) : [],
    listBalances(db, onlyTenant),
  ])
  return {
    attention,
    days: days.map(({ day }) => day),
    orders: orders.map(({ p50Ms, p95Ms, ...row }) => ({ ...row, p50_ms: p50Ms, p95_ms: p95Ms })),
    sales,
    webhooks,
    suppliers: suppliers.map(({ p50Ms, ...row }) => ({ ...row, p50_ms: p50Ms })),
    balances: money,
  }
}
