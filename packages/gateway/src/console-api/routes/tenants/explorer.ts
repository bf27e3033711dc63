import sql from 'sql-template-tag'
import Type from 'typebox'
import { EVERY_ROLE, type Route, route } from '../../kernel/route.ts'
import { CLOSED, tenantParams, time } from '../../kernel/schemas.ts'

/** What the signature debugger cannot know by itself. Signing and sending happen in the browser. */
export const explorerRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/clock',
    who: EVERY_ROLE,
    summary: 'The clock that timestamps are judged by',
    answer: Type.Object({ serverTime: time() }),
    handle: async ({ deps }) => ({ serverTime: new Date(deps.databaseClock.now()) }),
  }),
  route({
    method: 'GET',
    path: '/tenants/:tenantId/request-ids/:requestId',
    who: EVERY_ROLE,
    summary: 'Whether a RequestID was used, as far as it is remembered',
    params: Type.Object(
      {
        ...tenantParams.properties,
        requestId: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
      },
      CLOSED,
    ),
    answer: Type.Object({ used: Type.Boolean() }),
    async handle({ deps }, { params }) {
      const rows = await deps.db.query(sql`
        select 1 from request_ids where tenant_id = ${params.tenantId} and request_id = ${params.requestId} limit 1`)
      return { used: rows.length > 0 }
    },
  }),
]
