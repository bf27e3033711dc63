import { EVENT_FORMATS } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import Type, { type Static } from 'typebox'
import { sentence } from '#people/languages/translate-answer.ts'
import { resumeTenant, SELLS_THROUGH, suspendTenant } from '#tenants/change-tenant.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { TAG_LENGTH_MAX } from '#tenants/notes.ts'
import { countTenants, searchTenants, type TenantFilter, type TenantSort } from '#tenants/search-tenants.ts'
import { TEXT_LENGTH_MAX } from '#tenants/tenant-settings.ts'
import { getTenantView } from '#tenants/tenant-views.ts'
import { type ListQuery, listRoutes } from '../kernel/list-routes.ts'
import { EVERY_ROLE, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams, time, toDate } from '../kernel/route-schemas.ts'

const status = () => Type.Enum(['ACTIVE', 'SUSPENDED'])

const summary = Type.Object({
  tenantId: Type.String(),
  appKey: Type.String(),
  clientName: Type.String(),
  currencyCode: Type.String(),
  status: status(),
  balance: money(),
  createdAt: time(),
})

const row = Type.Object({ ...summary.properties, tags: Type.Array(Type.String()) })
export type TenantRow = Static<typeof row>

const view = Type.Object({
  ...summary.properties,
  ipAllowlist: Type.Array(Type.String()),
  unsignedRequests: Type.Boolean({ description: 'Requests without a signature are accepted at the RT API' }),
  unsignedFault: nullable(sentence('Why they cannot be accepted')),
  qpsLimit: nullable(Type.Integer()),
  qpsDefault: Type.Integer({ description: 'The limit where qpsLimit is null' }),
  sellsThrough: Type.Enum(SELLS_THROUGH, {
    description: 'PORTAL: the console hides the developer pages from its people. API keys keep working',
  }),
  creditLimit: money(),
  dailySpendLimit: nullable(money()),
  lowBalanceThreshold: nullable(money()),
  legalName: nullable(Type.String()),
  taxId: nullable(Type.String()),
  billingAddress: nullable(Type.String()),
  billingEmail: nullable(Type.String()),
  callbackUrl: nullable(Type.String()),
  eventFormat: Type.Enum(EVENT_FORMATS),
  secrets: Type.Array(
    Type.Object({
      secretId: Type.String(),
      createdAt: time(),
      validUntil: nullable(time()),
      provenAt: nullable(time()),
    }),
  ),
  updatedAt: time(),
})
export type TenantDetail = Static<typeof view>

const credentials = Type.Object({
  tenantId: Type.String(),
  appKey: Type.String(),
  appSecret: Type.String({ description: 'Shown only once' }),
})
export type Credentials = Static<typeof credentials>

/** Long enough for a sentence. */
const REASON_LENGTH_MIN = 3
const REASON_LENGTH_MAX = 300

const activity = Type.Object({
  lastCallAt: nullable(time()),
  lastOrderAt: nullable(time()),
})
export type TenantActivity = Static<typeof activity>
const filters = {
  q: Type.Optional(line(100)),
  status: Type.Optional(status()),
  tag: Type.Optional(line(TAG_LENGTH_MAX)),
  from: Type.Optional(time()),
  to: Type.Optional(time()),
}

export const tenantRoutes: Route[] = [
  ...listRoutes({
    name: 'tenants',
    file: 'dealers',
    path: '/tenants',
    access: OPERATORS,
    summary: 'Dealers, newest first. q is part of a name, or an AppKey',
    filters,
    row,
    sorts: { createdAt: 'INDEX', clientName: 'FILTERED', balance: 'FILTERED' },
    firstSort: '-createdAt',
    find: ({ deps }, query, { column, ...page }) =>
      searchTenants(deps.db, filterOf(query), { column: column as TenantSort, ...page }),
    count: ({ deps }, query) => countTenants(deps.db, filterOf(query)),
    csv: {
      name: (row) => row.clientName,
      appKey: (row) => row.appKey,
      status: (row) => row.status,
      balance: (row) => row.balance,
      currency: (row) => row.currencyCode,
      tags: (row) => row.tags.join(', '),
      createdAt: (row) => row.createdAt,
      id: (row) => row.tenantId,
    },
  }),
  route('POST /tenants', {
    access: OPERATORS_WRITE,
    sessionOnly: true,
    summary: 'Create a dealer. The AppSecret is returned only here',
    body: Type.Object(
      {
        clientName: line(TEXT_LENGTH_MAX.clientName),
        currencyCode: Type.String({ pattern: '^[A-Z]{3}$' }),
        sellsThrough: Type.Optional(Type.Enum(SELLS_THROUGH, { description: 'API by default' })),
      },
      CLOSED,
    ),
    answer: credentials,
    handle: ({ deps, by }, { body }) => createTenant(deps, body, by),
  }),
  route('GET /tenants/:tenantId', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'A dealer',
    params: tenantParams,
    answer: view,
    async handle({ deps }, { params }) {
      return { ...(await getTenantView(deps, params.tenantId)), qpsDefault: deps.config.defaultQpsLimit }
    },
  }),
  route('GET /tenants/:tenantId/activity', {
    access: OPERATORS,
    summary: 'When a dealer last called its API and last ordered',
    params: tenantParams,
    answer: activity,
    handle: ({ deps }, { params }) => getActivity(deps.db, params.tenantId),
  }),
  route('POST /tenants/:tenantId/suspend', {
    access: OPERATORS_WRITE,
    summary:
      'Suspend a dealer: the dealer API refuses requests. Paid orders are still delivered. The dealer reads the reason',
    params: tenantParams,
    body: Type.Object({ reason: line(REASON_LENGTH_MAX, REASON_LENGTH_MIN) }, CLOSED),
    handle: ({ deps, by }, { params, body }) => suspendTenant(deps, params.tenantId, by, body.reason),
  }),
  route('POST /tenants/:tenantId/resume', {
    access: OPERATORS_WRITE,
    summary: 'Resume a suspended dealer',
    params: tenantParams,
    handle: ({ deps, by }, { params }) => resumeTenant(deps, params.tenantId, by),
  }),
]

function filterOf({ q, status, tag, from, to }: ListQuery<typeof filters>): TenantFilter {
  return { keyword: q, status, tag, from: toDate(from), to: toDate(to) }
}

/** The last call and the last order of a dealer. Admission notes each accepted call in the dealer's request bucket. */
async function getActivity(db: Db, tenantId: string) {
  const [row] = await db.query<{ lastCallAt: Date | null; lastOrderAt: Date | null }>({
    text: `select (select refilled_at from qps_buckets where tenant_id = $1) as last_call_at,
             (select created_at from orders where tenant_id = $1 order by order_id desc limit 1) as last_order_at`,
    values: [tenantId],
  })
  return row!
}
