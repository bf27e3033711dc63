import { isUuid, timeOfUuid } from '@dealer-esim/lib/ids.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { type AuditFilter, type AuditRow, countAudit, searchAudit } from '#platform/audit/search-audit.ts'
import { createActorNaming, OPERATOR_NAME, personIdOf } from '../kernel/actors.ts'
import { actionFilter, visibleAction, visibleMembers } from '../kernel/audit-visibility.ts'
import { type ListQuery, listRoutes } from '../kernel/list-routes.ts'
import type { Context, Route } from '../kernel/route.ts'
import { line, nullable, time, toDate, uuid } from '../kernel/route-schemas.ts'

const entry = Type.Object({
  auditId: Type.String(),
  tenantId: nullable(Type.String()),
  createdAt: time(),
  actor: Type.String(),
  /** The value for the filter; null if the actor is not a person, or is hidden from the reader. */
  personId: nullable(Type.String()),
  action: Type.String(),
  subject: nullable(Type.String()),
  /** The dealer that the entry is about, if there is one. */
  clientName: nullable(Type.String()),
  before: Type.Unknown(),
  after: Type.Unknown(),
  address: nullable(Type.String()),
})
export type AuditEntry = Static<typeof entry>

const filters = {
  tenantId: Type.Optional(uuid()),
  person: Type.Optional(uuid()),
  action: Type.Optional(Type.String({ pattern: '^[a-z_]+(\\.[a-z_]+)?$', maxLength: 60 })),
  subject: Type.Optional(line(200)),
  from: Type.Optional(time()),
  to: Type.Optional(time()),
}
type Query = ListQuery<typeof filters>

/** Dealers' administrators are responsible for access in their organisation; their staff do not need to see it. */
const READERS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY', 'DEALER_ADMIN'] as const

export const auditRoutes: Route[] = listRoutes({
  name: 'entries',
  file: 'audit',
  path: '/audit',
  access: READERS,
  testMode: 'TWIN',
  summary: 'Every change and every view of a secret, newest first',
  filters,
  row: entry,
  sorts: { createdAt: 'INDEX' },
  firstSort: '-createdAt',
  async find(context, query, { limit, ascending, after }) {
    const filter = filterOf(context, query)
    const page = { limit: limit + 1, ascending, after: after?.[0] }
    const { rows, searchedTo } = await searchAudit(context.deps.db, filter, page)
    const shown = rows.slice(0, limit)
    const next = rows.length > limit ? shown.at(-1)!.auditId : searchedTo
    return {
      rows: await describe(context, shown),
      next: next === null ? null : [next],
      searchedTo: rows.length > limit || searchedTo === null ? null : new Date(timeOfUuid(searchedTo)),
    }
  },
  count: async (context, query) => ({ ...(await countAudit(context.deps.db, filterOf(context, query))), sums: [] }),
  csv: {
    time: (row) => row.createdAt,
    actor: (row) => row.actor,
    action: (row) => row.action,
    subject: (row) => row.subject,
    tenant: (row) => row.tenantId,
    address: (row) => row.address,
    before: (row) => JSON.stringify(row.before),
    after: (row) => JSON.stringify(row.after),
  },
})

function filterOf(context: Context, query: Query): AuditFilter {
  return {
    tenantId: context.onlyTenant ?? query.tenantId ?? null,
    actor: query.person && `person:${query.person}`,
    ...actionFilter(context, query.action),
    subject: query.subject,
    from: toDate(query.from),
    to: toDate(query.to),
  }
}

async function describe(context: Context, rows: AuditRow[]) {
  const nameOf = await createActorNaming(
    context,
    rows.map((row) => row.actor),
  )
  const clientNames = await clientNamesOf(context, rows)
  return rows.map((row) => {
    const actor = nameOf(row.actor) ?? row.actor
    // A dealer must not learn the addresses of the operator's people.
    const hidden = context.onlyTenant !== null && actor === OPERATOR_NAME
    return {
      ...row,
      tenantId: row.tenantId === NIL_TENANT ? null : row.tenantId,
      actor,
      clientName: clientNames.get(row.subject ?? '') ?? clientNames.get(row.tenantId) ?? null,
      action: visibleAction(context, row.action),
      personId: hidden ? null : personIdOf(row.actor),
      before: visibleMembers(context, row.before),
      after: visibleMembers(context, row.after),
      address: hidden ? null : row.address,
    }
  })
}

/** The names of all dealers that the entries belong to or mention, by id; for a dealer's people, only their own. */
async function clientNamesOf({ deps, onlyTenant }: Context, rows: AuditRow[]): Promise<Map<string, string>> {
  const ids = new Set(rows.flatMap(({ tenantId, subject }) => [tenantId, subject ?? '']).filter(isUuid))
  const tenants = await deps.db.query<{ tenantId: string; tenantName: string }>(sql`
    select tenant_id, tenant_name from tenants
    where tenant_id = any(${[...ids]}::uuid[]) and (${onlyTenant}::uuid is null or tenant_id = ${onlyTenant}::uuid)`)
  return new Map(tenants.map((tenant) => [tenant.tenantId, tenant.tenantName]))
}
