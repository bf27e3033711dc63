import { orderIdOf, orderNoOf } from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { searchProfiles as searchSent } from '#esims/search-profiles.ts'
import { parseEntryNo } from '#orders/reading/find-order.ts'
import { searchOrders as findOrders } from '#orders/reading/search-orders.ts'
import { hashAddress } from '#orders/traveller.ts'
import { maySeeTravellers } from '../esims/esims.ts'
import { type Context, EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line } from '../kernel/route-schemas.ts'

const searchResults = Type.Object({
  results: Type.Array(
    Type.Object({
      kind: Type.Enum(['TENANT', 'ORDER', 'PROFILE', 'PACKAGE', 'SUPPLIER', 'PERSON']),
      label: Type.String(),
      detail: Type.String(),
      /** The console page that shows it. */
      to: Type.String(),
    }),
  ),
})
export type SearchResults = Static<typeof searchResults>

const RESULTS_PER_KIND_MAX = 5
/** Each dealer may have an order #1042. */
const SAME_NUMBER_MAX = 100

export const searchRoutes: Route[] = [
  route('GET /search', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'Find orders, eSIMs, dealers, packages, suppliers and people by their numbers and names',
    query: Type.Object({ q: line(100, 2) }, CLOSED),
    answer: searchResults,
    async handle(context, { query }) {
      const results = await Promise.all([
        searchOrders(context, query.q),
        searchProfiles(context, query.q),
        searchTenants(context, query.q),
        searchPackages(context, query.q),
        searchSuppliers(context, query.q),
        searchPeople(context, query.q),
      ])
      return { results: results.flat() }
    },
  }),
]

type Result = SearchResults['results'][number]

/** Searches by number or whole transactionId. Each search is one index look-up per tenant, and tenants are few. */
async function searchOrders({ deps, onlyTenant }: Context, text: string): Promise<Result[]> {
  const entryNo = parseEntryNo(text)
  const orderId = orderIdOf(text.toUpperCase())
  const { orders } = await findOrders(
    deps.db,
    { tenantId: onlyTenant, transactionId: text, orderId, entryNo },
    { limit: entryNo === undefined ? RESULTS_PER_KIND_MAX : SAME_NUMBER_MAX },
  )
  return orders.map((order) => ({
    kind: 'ORDER' as const,
    label: `#${order.entryNo}`,
    detail: [onlyTenant === null ? order.clientName : '', order.packages[0], order.transactionId]
      .filter(Boolean)
      .join(' · '),
    to: `/tenants/${order.tenantId}/orders/${orderNoOf(order.orderId)}`,
  }))
}

async function searchProfiles(context: Context, text: string): Promise<Result[]> {
  const { deps, onlyTenant } = context
  if (text.includes('@')) return searchTravellers(context, text)
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{10,22}$/.test(digits)) return []
  const rows = await deps.db.query<{ tenantId: string; profileId: string; iccid: string; clientName: string }>(sql`
    select p.tenant_id, p.profile_id, p.iccid, t.tenant_name as client_name
    from profiles p join tenants t on t.tenant_id = p.tenant_id
    where p.iccid = ${digits} and (${onlyTenant}::uuid is null or p.tenant_id = ${onlyTenant}::uuid)
    order by p.profile_id desc limit ${RESULTS_PER_KIND_MAX}`)
  return rows.map((row) => {
    const to = `/tenants/${row.tenantId}/profiles/${row.profileId}`
    return { kind: 'PROFILE' as const, label: row.iccid, detail: row.clientName, to }
  })
}

/** The eSIMs that were sent to exactly this address, for people who may see it. */
async function searchTravellers(context: Context, email: string): Promise<Result[]> {
  if (!maySeeTravellers(context)) return []
  const { deps, onlyTenant: tenantId } = context
  const filter = { tenantId, recipientHash: hashAddress(deps.linkKey, email) }
  const { profiles } = await searchSent(deps.db, filter, { limit: RESULTS_PER_KIND_MAX })
  return profiles.map(({ tenantId, profileId, packageName, iccid, entryNo }) => {
    const to = `/tenants/${tenantId}/profiles/${profileId}`
    return { kind: 'PROFILE' as const, label: packageName, detail: `#${entryNo} · ${iccid}`, to }
  })
}

async function searchTenants({ deps, onlyTenant }: Context, text: string): Promise<Result[]> {
  if (onlyTenant !== null) return []
  const rows = await deps.db.query<{ tenantId: string; clientName: string; appKey: string }>(sql`
    select tenant_id, tenant_name as client_name, app_key from tenants
    where position(lower(${text}) in lower(tenant_name)) > 0 or app_key = ${text}
       or tenant_id = (select tenant_id from tenant_keys where app_key = ${text})
    order by tenant_name limit ${RESULTS_PER_KIND_MAX}`)
  return rows.map((row) => {
    const to = `/tenants/${row.tenantId}`
    return { kind: 'TENANT' as const, label: row.clientName, detail: row.appKey, to }
  })
}

async function searchPackages({ deps, onlyTenant }: Context, text: string): Promise<Result[]> {
  if (onlyTenant !== null) return []
  const rows = await deps.db.query<{ packageCode: string; name: string }>(sql`
    select package_code, name from packages
    where starts_with(lower(package_code), lower(${text})) or strpos(lower(name), lower(${text})) > 0
    order by lower(package_code) <> lower(${text}), package_code limit ${RESULTS_PER_KIND_MAX}`)
  return rows.map(({ packageCode, name }) => {
    const to = `/packages/${encodeURIComponent(packageCode)}`
    return { kind: 'PACKAGE' as const, label: packageCode, detail: name, to }
  })
}

async function searchSuppliers({ deps, onlyTenant }: Context, text: string): Promise<Result[]> {
  if (onlyTenant !== null) return []
  const rows = await deps.db.query<{ supplier: string; type: string }>(sql`
    select supplier, type from suppliers where strpos(lower(supplier), lower(${text})) > 0
    order by supplier limit ${RESULTS_PER_KIND_MAX}`)
  return rows.map(({ supplier, type }) => {
    return {
      kind: 'SUPPLIER' as const,
      label: supplier,
      detail: type,
      to: `/suppliers/${encodeURIComponent(supplier)}`,
    }
  })
}

/** Colleagues; for operators also the dealers' people. */
async function searchPeople({ deps, onlyTenant }: Context, text: string): Promise<Result[]> {
  const rows = await deps.db.query<{ tenantId: string | null; name: string; email: string }>(sql`
    select tenant_id, name, email from people
    where (strpos(lower(name), lower(${text})) > 0 or strpos(email, lower(${text})) > 0)
      and (${onlyTenant}::uuid is null or tenant_id = ${onlyTenant}::uuid)
    order by email limit ${RESULTS_PER_KIND_MAX}`)
  return rows.map(({ tenantId, name, email }) => {
    const to = tenantId === null ? '/people' : `/tenants/${tenantId}/people`
    return { kind: 'PERSON' as const, label: name, detail: email, to }
  })
}
