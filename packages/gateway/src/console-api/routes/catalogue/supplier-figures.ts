import { orderNoOf } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { firstUuidAt } from '../../../lib/ids.ts'
import { OPERATORS, type Route, route } from '../../kernel/route.ts'
import { CLOSED, line, nullable, time } from '../../kernel/schemas.ts'

const count = () => Type.Integer({ minimum: 0 })
const duration = () => nullable(Type.Integer({ description: 'ms; null: nothing was purchased' }))

const figures = Type.Object({
  succeeded: count(),
  refused: count(),
  retried: count(),
  unknown: count(),
  p50_ms: duration(),
  p95_ms: duration(),
  errors: Type.Array(
    Type.Object({
      time: time(),
      tenantId: Type.String(),
      orderNo: Type.String(),
      operation: Type.String(),
      outcome: Type.String(),
      message: nullable(Type.String()),
    }),
    { description: 'The latest first' },
  ),
})
export type SupplierFigures = Static<typeof figures>

const DAY_MS = 86_400_000
const ERRORS_SHOWN = 10

export const supplierFigureRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/suppliers/:supplier/figures',
    access: OPERATORS,
    summary: 'How purchases at a supplier ended in the last 24 hours, and how long they took, with the last errors',
    params: Type.Object({ supplier: line(64) }, CLOSED),
    answer: figures,
    async handle({ deps }, { params: { supplier } }) {
      const since = firstUuidAt(deps.databaseClock.now() - DAY_MS)
      const [counted, errors] = await Promise.all([
        deps.db.query<
          Omit<SupplierFigures, 'errors' | 'p50_ms' | 'p95_ms'> & Record<'p50Ms' | 'p95Ms', number | null>
        >(sql`
          select count(*) filter (where outcome in ('delivered', 'toppedUp', 'ordered'))::int as succeeded,
            count(*) filter (where outcome = 'refused')::int as refused,
            count(*) filter (where outcome = 'retry')::int as retried,
            count(*) filter (where outcome = 'unknown')::int as unknown,
            round(percentile_cont(0.5) within group (
              order by extract(epoch from finished_at - started_at) * 1000))::int as p50_ms,
            round(percentile_cont(0.95) within group (
              order by extract(epoch from finished_at - started_at) * 1000))::int as p95_ms
          from tenants t
          cross join lateral (
            select outcome, started_at, finished_at from supplier_attempts
            where tenant_id = t.tenant_id and attempt_id >= ${since} and supplier = ${supplier}
              and operation in ('ORDER', 'TOPUP') and finished_at is not null) a`),
        deps.db.query<
          Omit<SupplierFigures['errors'][number], 'orderNo' | 'time'> & { orderId: string; time: Date }
        >(sql`
          select a.finished_at as time, t.tenant_id, a.order_id, a.operation, a.outcome, a.message
          from tenants t
          cross join lateral (
            select attempt_id, order_id, operation, outcome, message, finished_at from supplier_attempts
            where tenant_id = t.tenant_id and attempt_id >= ${since} and supplier = ${supplier}
              and outcome in ('refused', 'retry', 'unknown') and finished_at is not null
            order by attempt_id desc limit ${ERRORS_SHOWN}) a
          order by a.attempt_id desc limit ${ERRORS_SHOWN}`),
      ])
      const { p50Ms, p95Ms, ...outcomes } = counted[0]!
      return {
        ...outcomes,
        p50_ms: p50Ms,
        p95_ms: p95Ms,
        errors: errors.map(({ orderId, ...error }) => ({ ...error, orderNo: orderNoOf(orderId) })),
      }
    },
  }),
]
