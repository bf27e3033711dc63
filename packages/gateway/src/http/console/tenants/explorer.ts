import sql from 'sql-template-tag'
import Type from 'typebox'
import { EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, tenantParams, time, uuid } from '../kernel/route-schemas.ts'

/** Facts that the signature debugger needs from the gateway. Signing and sending happen in the browser. */
export const explorerRoutes: Route[] = [
  route('GET /clock', {
    access: EVERY_ROLE,
    testMode: 'SAME',
    summary: 'The clock against which timestamps are checked',
    answer: Type.Object({ serverTime: time() }),
    handle: async ({ deps }) => ({ serverTime: new Date(deps.databaseClock.now()) }),
  }),
  route('GET /tenants/:tenantId/request-ids/:requestId', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'Whether a RequestID was used, while it is stored',
    params: Type.Object(
      {
        ...tenantParams.properties,
        requestId: uuid(),
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
