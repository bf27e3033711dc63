import Type, { type Static } from 'typebox'
import { attention, balances, orderDays, salesDays, supplierFigures, webhookDays } from './dashboard-figures.ts'
import { type Context, EVERY_ROLE, type Route, route } from './route.ts'
import { CLOSED, money, nullable } from './schemas.ts'

const day = { day: Type.String({ description: 'UTC' }) }
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
  }),
  days: Type.Array(Type.String({ description: 'Every UTC day of the period' })),
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
  webhooks: Type.Array(Type.Object({ ...day, acknowledged: count(), failed: count() })),
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

const DAY_MS = 86_400_000

export const dashboardRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/dashboard',
    who: EVERY_ROLE,
    summary: 'What waits for a person, and the figures of a period',
    query: Type.Object({ days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90 })) }, CLOSED),
    answer: dashboard,
    handle: (context, { query }) => read(context, query.days ?? 14),
  }),
]

async function read({ deps, onlyTenant }: Context, length: number) {
  const { db } = deps
  const today_ms = Math.floor(deps.clock.now() / DAY_MS) * DAY_MS
  const from = new Date(today_ms - (length - 1) * DAY_MS)
  const scope = { tenantId: onlyTenant, from }
  const [waiting, orders, sales, webhooks, suppliers, money] = await Promise.all([
    attention(db, onlyTenant),
    orderDays(db, scope),
    salesDays(db, scope),
    webhookDays(db, scope),
    onlyTenant === null ? supplierFigures(db, from) : [],
    balances(db, onlyTenant),
  ])
  const days = Array.from({ length }, (_, index) =>
    new Date(from.getTime() + index * DAY_MS).toISOString().slice(0, 10),
  )
  return { attention: waiting, days, orders, sales, webhooks, suppliers, balances: money }
}
