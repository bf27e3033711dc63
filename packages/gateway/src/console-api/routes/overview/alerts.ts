import Type, { type Static } from 'typebox'
import { countUnreadAlerts, listAlerts, markAlertsRead } from '../../../alerts/alerts.ts'
import { alertPath } from '../../../alerts/place.ts'
import { NIL_TENANT } from '../../../audit/audit.ts'
import { cursor, PAGE_SIZE, pageOf, pageSchema } from '../../kernel/paging.ts'
import { EVERY_ROLE, type Route, route, TENANT_STAFF } from '../../kernel/route.ts'
import { CLOSED, done, nullable, time, uuid } from '../../kernel/schemas.ts'

const alert = Type.Object({
  noticeId: Type.String(),
  tenantId: nullable(Type.String()),
  kind: Type.String(),
  message: Type.String(),
  path: Type.String({ description: 'Of the console page with what the alert is about' }),
  readAt: nullable(time()),
  createdAt: time(),
})
export type Alert = Static<typeof alert>

export const alertRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/notices',
    access: EVERY_ROLE,
    summary: "Alerts, newest first: the operator's, or a dealer's",
    query: Type.Object(
      { tenantId: Type.Optional(uuid()), unread: Type.Optional(Type.Boolean()), cursor: cursor() },
      CLOSED,
    ),
    answer: pageSchema('notices', alert),
    async handle({ deps, onlyTenant }, { query }) {
      const tenantId = onlyTenant ?? query.tenantId ?? null
      // For one dealer, an operator sees the alerts to the dealer and those about it.
      const audience = onlyTenant !== null ? 'TENANT' : tenantId === null ? 'OPERATOR' : null
      const filter = { tenantId, audience, unread: query.unread, before: query.cursor } as const
      const rows = await listAlerts(deps.db, filter, PAGE_SIZE + 1)
      const { page, nextCursor } = pageOf(rows, (row) => row.alertId)
      const notices = page.map(({ alertId, tenantId, kind, message, data, readAt, createdAt }) => ({
        noticeId: alertId,
        tenantId: tenantId === NIL_TENANT ? null : tenantId,
        kind,
        message,
        path: alertPath({ kind, tenantId, data }),
        readAt,
        createdAt,
      }))
      return { notices, nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/notices/unread',
    access: EVERY_ROLE,
    summary: 'How many alerts are unread, up to 100',
    answer: Type.Object({ count: Type.Integer() }),
    async handle({ deps, onlyTenant }) {
      const audience = onlyTenant === null ? 'OPERATOR' : 'TENANT'
      return { count: await countUnreadAlerts(deps.db, { tenantId: onlyTenant, audience }) }
    },
  }),
  route({
    method: 'POST',
    path: '/notices/read',
    access: TENANT_STAFF,
    summary: 'Mark alerts as read for everybody in the organisation',
    body: Type.Object({ noticeIds: Type.Array(uuid(), { minItems: 1, maxItems: 100 }) }, CLOSED),
    answer: done,
    async handle({ deps, onlyTenant }, { body }) {
      const audience = onlyTenant === null ? 'OPERATOR' : 'TENANT'
      await deps.db.tx(async (tx) => markAlertsRead(tx, body.noticeIds, { tenantId: onlyTenant, audience }))
      return {}
    },
  }),
]
