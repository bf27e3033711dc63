import { Readable } from 'node:stream'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { NIL_TENANT } from '../../../audit/audit.ts'
import { type AuditFilter, type AuditRow, searchAudit } from '../../../audit/search.ts'
import { csvText } from '../../../lib/csv.ts'
import { isUuid } from '../../../lib/ids.ts'
import { createActorNaming, OPERATOR_NAME, personIdOf } from '../../kernel/actors.ts'
import { actionFilter, visibleAction, visibleMembers } from '../../kernel/dealer-view.ts'
import { cursor, PAGE_SIZE, pageOf, pageSchema } from '../../kernel/paging.ts'
import { type Context, type Route, route } from '../../kernel/route.ts'
import { CLOSED, line, nullable, time, toDate, uuid } from '../../kernel/schemas.ts'
import { sendCsv } from '../../kernel/send-csv.ts'

const entry = Type.Object({
  auditId: Type.String(),
  tenantId: nullable(Type.String()),
  createdAt: time(),
  actor: Type.String(),
  /** For the filter; null if the actor is not a person, or is hidden from the reader. */
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
const query = Type.Object({ ...filters, cursor: cursor() }, CLOSED)
type Query = Static<typeof query>

/** Dealers' administrators are responsible for access in their organisation; their staff do not need to see it. */
const READERS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY', 'DEALER_ADMIN'] as const

const EXPORT_PAGE_SIZE = 500

export const auditRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/audit',
    access: READERS,
    summary: 'Every change and every view of a secret, newest first',
    query,
    answer: pageSchema('entries', entry),
    async handle(context, { query }) {
      const rows = await searchAudit(context.deps.db, filterOf(context, query), PAGE_SIZE + 1)
      const { page, nextCursor } = pageOf(rows, (row) => row.auditId)
      return { entries: await describe(context, page), nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/audit.csv',
    access: READERS,
    summary: 'The same entries as CSV',
    query: Type.Object(filters, CLOSED),
    answer: Type.String(),
    answerType: 'text/csv',
    async handle(context, { query }) {
      return sendCsv(context.reply, 'audit.csv', Readable.from(csvOf(context, filterOf(context, query))))
    },
  }),
]

function filterOf(context: Context, query: Query): AuditFilter {
  return {
    tenantId: context.onlyTenant ?? query.tenantId ?? null,
    actor: query.person && `person:${query.person}`,
    ...actionFilter(context, query.action),
    subject: query.subject,
    from: toDate(query.from),
    to: toDate(query.to),
    before: query.cursor,
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

/** The names of all dealers that the entries belong to or mention, by id; for a dealer's people only their own. */
async function clientNamesOf({ deps, onlyTenant }: Context, rows: AuditRow[]): Promise<Map<string, string>> {
  const ids = new Set(rows.flatMap(({ tenantId, subject }) => [tenantId, subject ?? '']).filter(isUuid))
  const tenants = await deps.db.query<{ tenantId: string; tenantName: string }>(sql`
    select tenant_id, tenant_name from tenants
    where tenant_id = any(${[...ids]}::uuid[]) and (${onlyTenant}::uuid is null or tenant_id = ${onlyTenant}::uuid)`)
  return new Map(tenants.map((tenant) => [tenant.tenantId, tenant.tenantName]))
}

async function* csvOf(context: Context, filter: AuditFilter): AsyncGenerator<string> {
  yield csvText([['time', 'actor', 'action', 'subject', 'tenant', 'address', 'before', 'after']])
  let before: string | undefined
  // No limit, because a truncated file would look complete. It ends, because it reads from the newest entry backwards.
  while (true) {
    const rows = await searchAudit(context.deps.db, { ...filter, before }, EXPORT_PAGE_SIZE)
    const entries = await describe(context, rows)
    const lines = entries.map((row) => [
      row.createdAt.toISOString(),
      row.actor,
      row.action,
      row.subject,
      row.tenantId,
      row.address,
      JSON.stringify(row.before),
      JSON.stringify(row.after),
    ])
    yield csvText(lines)
    before = rows.at(-1)?.auditId
    if (rows.length < EXPORT_PAGE_SIZE) return
  }
}
