import { Readable } from 'node:stream'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { NIL_TENANT } from '../../../audit/audit.ts'
import { type AuditFilter, type AuditRow, searchAudit } from '../../../audit/search.ts'
import { csvText } from '../../../lib/csv.ts'
import { isUuid } from '../../../lib/ids.ts'
import { actorNames, OPERATOR, personOf } from '../../kernel/actors.ts'
import { shownAction, shownDetail, soughtActions } from '../../kernel/dealers-view.ts'
import { type Context, type Route, route } from '../../kernel/route.ts'
import { CLOSED, cursor, line, nextCursor, nullable, PAGE, pageOf, time, uuid } from '../../kernel/schemas.ts'
import { sendCsv } from '../../kernel/send-csv.ts'

const entry = Type.Object({
  auditId: Type.String(),
  tenantId: nullable(Type.String()),
  createdAt: time(),
  actor: Type.String(),
  /** To filter by; null where it was no person, or one whose name the reader is not told. */
  personId: nullable(Type.String()),
  action: Type.String(),
  subject: nullable(Type.String()),
  /** Whom the subject is or belongs to; null where that is no dealer. */
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

/** A staff member of a dealer has no need to see who looked at what; administrators answer for it. */
const READERS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY', 'DEALER_ADMIN'] as const

const EXPORT_PAGE = 500

export const auditRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/audit',
    who: READERS,
    summary: 'Every change and every look at a secret, newest first',
    query,
    answer: Type.Object({ entries: Type.Array(entry), nextCursor: nextCursor() }),
    async handle(context, { query }) {
      const rows = await searchAudit(context.deps.db, filterOf(context, query), PAGE + 1)
      const { page, nextCursor } = pageOf(rows, (row) => row.auditId)
      return { entries: await describe(context, page), nextCursor }
    },
  }),
  route({
    method: 'GET',
    path: '/audit.csv',
    who: READERS,
    summary: 'The same as CSV',
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
    ...soughtActions(context, query.action),
    subject: query.subject,
    from: query.from === undefined ? undefined : new Date(query.from),
    to: query.to === undefined ? undefined : new Date(query.to),
    before: query.cursor,
  }
}

async function describe(context: Context, rows: AuditRow[]) {
  const nameOf = await actorNames(
    context,
    rows.map((row) => row.actor),
  )
  const clientNames = await clientNamesOf(context, rows)
  return rows.map((row) => {
    const actor = nameOf(row.actor) ?? row.actor
    // Where an operator's people sit is none of a dealer's business.
    const hidden = context.onlyTenant !== null && actor === OPERATOR
    return {
      ...row,
      tenantId: row.tenantId === NIL_TENANT ? null : row.tenantId,
      actor,
      clientName: clientNames.get(row.subject ?? '') ?? clientNames.get(row.tenantId) ?? null,
      action: shownAction(context, row.action),
      personId: hidden ? null : personOf(row.actor),
      before: shownDetail(context, row.before),
      after: shownDetail(context, row.after),
      address: hidden ? null : row.address,
    }
  })
}

/** By id, of the dealers that entries are of or name. A dealer's people have entries of their own tenant only. */
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
  // Bounded by the entries of its beginning, since it goes back from the newest: a cut file would look like a whole one.
  while (true) {
    const rows = await searchAudit(context.deps.db, { ...filter, before }, EXPORT_PAGE)
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
    if (rows.length < EXPORT_PAGE) return
  }
}
