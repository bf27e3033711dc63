import Type, { type Static } from 'typebox'
import { alertPath } from '#alerts/alert-path.ts'
import { type AlertRow, countAlerts, countUnreadAlerts, listAlerts, markAlertsRead } from '#alerts/alerts.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { listRoutes } from './kernel/list-routes.ts'
import { PAGE_SIZE_MAX, pageByKey } from './kernel/paging.ts'
import { type Context, EVERY_ROLE, type Route, route, TENANT_STAFF } from './kernel/route.ts'
import { CLOSED, nullable, time, uuid } from './kernel/route-schemas.ts'

const alert = Type.Object({
  noticeId: Type.String(),
  tenantId: nullable(Type.String()),
  kind: Type.String(),
  message: sentence(),
  path: Type.String({ description: 'Of the console page with what the alert is about' }),
  readAt: nullable(time()),
  createdAt: time(),
})
export type Alert = Static<typeof alert>

const filters = { tenantId: Type.Optional(uuid()), unread: Type.Optional(Type.Boolean()) }

export const alertRoutes: Route[] = [
  ...listRoutes({
    name: 'notices',
    file: 'alerts',
    path: '/notices',
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: "Alerts, newest first: the operator's, or a dealer's",
    filters,
    row: alert,
    sorts: { createdAt: 'INDEX' },
    firstSort: '-createdAt',
    async find(context, query, page) {
      const { rows, next } = await pageByKey(
        page,
        (part) => listAlerts(context.deps.db, filterOf(context, query), part),
        (row) => row.alertId,
      )
      return { rows: rows.map(rowOf), next }
    },
    count: (context, query) => countAlerts(context.deps.db, filterOf(context, query)),
    csv: {
      time: (row) => row.createdAt,
      kind: (row) => row.kind,
      message: (row) => row.message,
      readAt: (row) => row.readAt,
      id: (row) => row.noticeId,
    },
  }),
  route('GET /notices/unread', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'How many alerts are unread, up to 100',
    answer: Type.Object({ count: Type.Integer() }),
    async handle({ deps, onlyTenant }) {
      const audience = onlyTenant === null ? 'OPERATOR' : 'TENANT'
      return { count: await countUnreadAlerts(deps.db, { tenantId: onlyTenant, audience }) }
    },
  }),
  route('POST /notices/read', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    summary: 'Mark alerts as read for everybody in the organisation',
    body: Type.Object({ noticeIds: Type.Array(uuid(), { minItems: 1, maxItems: PAGE_SIZE_MAX }) }, CLOSED),
    async handle({ deps, onlyTenant }, { body }) {
      const audience = onlyTenant === null ? 'OPERATOR' : 'TENANT'
      await deps.db.tx(async (tx) => markAlertsRead(tx, body.noticeIds, { tenantId: onlyTenant, audience }))
    },
  }),
]

function rowOf({ alertId, tenantId, kind, message, data, readAt, createdAt }: AlertRow) {
  return {
    noticeId: alertId,
    tenantId: tenantId === NIL_TENANT ? null : tenantId,
    kind,
    message,
    path: alertPath({ kind, tenantId, data }),
    readAt,
    createdAt,
  }
}

/** For one dealer, an operator sees the alerts sent to it and those about it. */
function filterOf({ onlyTenant }: Context, query: { tenantId?: string; unread?: boolean }) {
  const tenantId = onlyTenant ?? query.tenantId ?? null
  const audience = onlyTenant !== null ? 'TENANT' : tenantId === null ? 'OPERATOR' : null
  return { tenantId, audience, unread: query.unread } as const
}
