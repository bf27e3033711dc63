import Type, { type Static } from 'typebox'
import { listNotices, readNotices } from '../../../alerts/alerts.ts'
import { NIL_TENANT } from '../../../audit/audit.ts'
import { EVERY_ROLE, type Route, route, TENANT_STAFF } from '../../kernel/route.ts'
import { CLOSED, cursor, done, nextCursor, nullable, PAGE, pageOf, time, uuid } from '../../kernel/schemas.ts'

const notice = Type.Object({
  noticeId: Type.String(),
  tenantId: nullable(Type.String()),
  kind: Type.String(),
  message: Type.String(),
  readAt: nullable(time()),
  createdAt: time(),
})
export type Notice = Static<typeof notice>

export const noticeRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/notices',
    who: EVERY_ROLE,
    summary: "Notices, newest first: the operator's, or those to a dealer",
    query: Type.Object(
      { tenantId: Type.Optional(uuid()), unread: Type.Optional(Type.Boolean()), cursor: cursor() },
      CLOSED,
    ),
    answer: Type.Object({ notices: Type.Array(notice), nextCursor: nextCursor() }),
    async handle({ deps, onlyTenant }, { query }) {
      const tenantId = onlyTenant ?? query.tenantId ?? null
      // An operator who looks at one dealer sees what both were told.
      const audience = onlyTenant !== null ? 'TENANT' : tenantId === null ? 'OPERATOR' : null
      const filter = { tenantId, audience, unread: query.unread, before: query.cursor } as const
      const rows = await listNotices(deps.db, filter, PAGE + 1)
      const { page, nextCursor } = pageOf(rows, (row) => row.noticeId)
      const notices = page.map(({ noticeId, tenantId, kind, message, readAt, createdAt }) => ({
        noticeId,
        tenantId: tenantId === NIL_TENANT ? null : tenantId,
        kind,
        message,
        readAt,
        createdAt,
      }))
      return { notices, nextCursor }
    },
  }),
  route({
    method: 'POST',
    path: '/notices/read',
    who: TENANT_STAFF,
    summary: 'Mark notices as read, for everybody of the organisation',
    body: Type.Object({ noticeIds: Type.Array(uuid(), { minItems: 1, maxItems: 100 }) }, CLOSED),
    answer: done,
    async handle({ deps, onlyTenant }, { body }) {
      const audience = onlyTenant === null ? 'OPERATOR' : 'TENANT'
      await deps.db.tx(async (tx) => readNotices(tx, body.noticeIds, { tenantId: onlyTenant, audience }))
      return {}
    },
  }),
]
