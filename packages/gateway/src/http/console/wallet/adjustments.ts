import { memberColumns } from '@dealer-esim/lib/csv.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { approveAdjustment, proposeAdjustment, rejectAdjustment } from '#wallet/ledger/adjust.ts'
import { ADJUSTMENT_STATUSES, type Adjustment, countAdjustments, listAdjustments } from '#wallet/ledger/adjustment.ts'
import { LINE_LENGTH_MAX } from '#wallet/ledger/ledger-checks.ts'
import { createActorNaming } from '../kernel/actors.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { pageByKey } from '../kernel/paging.ts'
import { type Context, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams, time, uuid } from '../kernel/route-schemas.ts'

const adjustment = Type.Object({
  adjustmentId: Type.String(),
  tenantId: Type.String(),
  clientName: Type.String(),
  currencyCode: Type.String(),
  amount: money(),
  reference: Type.String(),
  reason: Type.String(),
  status: Type.Enum(ADJUSTMENT_STATUSES),
  proposedBy: Type.String(),
  /** Proposers may withdraw, but not approve, their own proposal. */
  ownProposal: Type.Boolean(),
  createdAt: time(),
  decidedBy: nullable(Type.String()),
  decidedAt: nullable(time()),
})
export type AdjustmentRow = Static<typeof adjustment>

const filters = {
  tenantId: Type.Optional(uuid()),
  open: Type.Optional(Type.Boolean({ description: 'Only those that wait for approval' })),
  status: Type.Optional(Type.Enum(ADJUSTMENT_STATUSES)),
}

const params = Type.Object({ ...tenantParams.properties, adjustmentId: uuid() }, CLOSED)
const decided = Type.Object({ status: Type.String() })

export const adjustmentRoutes: Route[] = [
  ...listRoutes({
    name: 'adjustments',
    path: '/adjustments',
    access: OPERATORS,
    summary: 'Adjustments, newest first: all, those of a dealer, or those in a status',
    filters,
    row: adjustment,
    sorts: { createdAt: 'INDEX' },
    firstSort: '-createdAt',
    async find(context, filter, page) {
      const { rows, next } = await pageByKey(
        page,
        (part) => listAdjustments(context.deps.db, { ...filter, ...part }),
        (row) => row.adjustmentId,
      )
      return { rows: await describe(context, rows), next }
    },
    count: ({ deps }, filter) => countAdjustments(deps.db, filter),
    csv: {
      time: (row) => row.createdAt,
      dealer: (row) => row.clientName,
      amount: (row) => row.amount,
      currency: (row) => row.currencyCode,
      ...memberColumns('reference', 'reason', 'status', 'proposedBy', 'decidedBy', 'decidedAt'),
      id: (row) => row.adjustmentId,
    },
  }),
  route('POST /tenants/:tenantId/adjustments', {
    access: OPERATORS_WRITE,
    summary: 'Propose an adjustment. Another operator must approve it',
    params: tenantParams,
    body: Type.Object(
      { amount: money(), reference: line(LINE_LENGTH_MAX.reference), reason: line(LINE_LENGTH_MAX.reason) },
      CLOSED,
    ),
    answer: decided,
    async handle({ deps, by }, { params, body }) {
      const input = { ...body, tenantId: params.tenantId, amount: BigInt(body.amount) }
      const { status } = await proposeAdjustment(deps, input, by)
      return { status }
    },
  }),
  route('POST /tenants/:tenantId/adjustments/:adjustmentId/approve', {
    access: OPERATORS_WRITE,
    summary: "Approve another operator's proposal. Its transfer is posted",
    params,
    answer: decided,
    async handle({ deps, by }, { params }) {
      const { status } = await approveAdjustment(deps, params.tenantId, params.adjustmentId, by)
      return { status }
    },
  }),
  route('POST /tenants/:tenantId/adjustments/:adjustmentId/reject', {
    access: OPERATORS_WRITE,
    summary: 'Reject a proposal, or withdraw your own',
    params,
    answer: decided,
    async handle({ deps, by }, { params }) {
      const { status } = await rejectAdjustment(deps, params.tenantId, params.adjustmentId, by)
      return { status }
    },
  }),
]

async function describe(context: Context, rows: Adjustment[]) {
  const ids = [...new Set(rows.map((row) => row.tenantId))]
  const tenants = await context.deps.db.query<{ tenantId: string; tenantName: string; currencyCode: string }>(sql`
    select tenant_id, tenant_name, currency_code from tenants where tenant_id = any(${ids}::uuid[])`)
  const byId = new Map(tenants.map((tenant) => [tenant.tenantId, tenant]))
  const nameOf = await createActorNaming(
    context,
    rows.flatMap((row) => [row.proposedBy, row.decidedBy]),
  )
  return rows.map((row) => ({
    adjustmentId: row.adjustmentId,
    tenantId: row.tenantId,
    clientName: byId.get(row.tenantId)?.tenantName ?? '',
    currencyCode: byId.get(row.tenantId)?.currencyCode ?? '',
    amount: row.amount,
    reference: row.reference,
    reason: row.reason,
    status: row.status,
    proposedBy: nameOf(row.proposedBy) ?? '',
    ownProposal: row.proposedBy === context.by.actor,
    createdAt: row.createdAt,
    decidedBy: nameOf(row.decidedBy),
    decidedAt: row.decidedAt,
  }))
}
