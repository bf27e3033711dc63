import { Readable } from 'node:stream'
import { PACKAGE_STATUSES } from '@dealer-esim/contract'
import { countOf } from '@dealer-esim/lib/postgres/count-rows.ts'
import Type, { type Static } from 'typebox'
import { type Buyer, getBuyer, type QuotedPackage, type Snapshot } from '#catalogue/catalogue.ts'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import { listPriceOf, priceListCsv } from '#catalogue/files/price-list.ts'
import { getAssignment, setTenantGroup, setTenantPlan } from '#catalogue/prices/price-assignments.ts'
import { setOwnPrice } from '#catalogue/prices/prices.ts'
import { getTenantView } from '#tenants/tenant-views.ts'
import { csvFileName } from '#wallet/statement/entries-csv.ts'
import { sendCsv } from '../kernel/csv-route.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { pageInMemory } from '../kernel/paging.ts'
import { EVERY_ROLE, OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams, uuid } from '../kernel/route-schemas.ts'

/** Where a tenant's price comes from: its own price, its plan, its group's plan, or the list price. */
const SOURCES = ['OWN', 'PLAN', 'GROUP', 'LIST'] as const
const source = () => Type.Enum(SOURCES)

const priceRow = Type.Object({
  packageCode: Type.String(),
  name: Type.String(),
  status: Type.Enum(PACKAGE_STATUSES),
  price: money(),
  retailPrice: nullable(money()),
  /** Both are for operators only, because they reveal other dealers' prices. */
  source: Type.Optional(nullable(source())),
  listPrice: Type.Optional(nullable(money())),
})
export type PriceRow = Static<typeof priceRow>

const assignment = Type.Object({
  planName: nullable(Type.String()),
  groupName: nullable(Type.String()),
  groupPlanName: nullable(Type.String()),
})
export type PriceAssignment = Static<typeof assignment>

export interface TenantPrices {
  currencyCode: string
}

const filters = {
  keyword: Type.Optional(line(100)),
  source: Type.Optional(source()),
}
const ownParams = Type.Object({ tenantId: uuid(), packageCode: line(64) }, CLOSED)

export const tenantPriceRoutes: Route[] = [
  ...listRoutes({
    name: 'prices',
    path: '/tenants/:tenantId/prices',
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'A dealer’s prices by package. Operators also see their source, dealers only packages on sale',
    params: tenantParams,
    filters,
    row: priceRow,
    more: { currencyCode: Type.String() },
    sorts: { packageCode: 'INDEX' },
    firstSort: 'packageCode',
    async find({ deps, onlyTenant }, query, page, { tenantId }) {
      const buyer = await getBuyer(deps.db, tenantId)
      const forOperator = onlyTenant === null
      const matching = pricesFor(await deps.catalogue.latest(), buyer, query, { forOperator })
      const { rows, next } = await pageInMemory(matching, ({ item }) => item.packageCode, page)
      return {
        rows: rows.map((quoted) => ({ ...rowOf(quoted), ...(forOperator && sourceOf(quoted, buyer)) })),
        next,
        more: { currencyCode: buyer.currencyCode },
      }
    },
    async count({ deps, onlyTenant }, query, { tenantId }) {
      const buyer = await getBuyer(deps.db, tenantId)
      const snapshot = await deps.catalogue.latest()
      return countOf(pricesFor(snapshot, buyer, query, { forOperator: onlyTenant === null }).length)
    },
  }),
  route('GET /tenants/:tenantId/prices.csv', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'The same as CSV',
    params: tenantParams,
    query: Type.Object(filters, CLOSED),
    answer: Type.String(),
    answerType: 'text/csv',
    async handle({ deps, reply, onlyTenant }, { params, query }) {
      const { tenantId, clientName, currencyCode } = await getTenantView(deps, params.tenantId)
      const [buyer, reader] = [{ tenantId, currencyCode }, { forOperator: onlyTenant === null }]
      const csv = priceListCsv(pricesFor(await deps.catalogue.latest(), buyer, query, reader), buyer, reader)
      return sendCsv(reply, csvFileName('prices', { tenantId, clientName }), Readable.from(csv))
    },
  }),
  route('GET /tenants/:tenantId/price-assignment', {
    access: OPERATORS,
    summary: 'A dealer’s price plan and price group',
    params: tenantParams,
    answer: assignment,
    handle: ({ deps }, { params }) => getAssignment(deps.db, params.tenantId),
  }),
  route('PUT /tenants/:tenantId/price-plan', {
    access: OPERATORS_WRITE,
    summary: 'Set a dealer’s price plan; null: no plan of its own',
    params: tenantParams,
    body: Type.Object({ planName: nullable(line(64)) }, CLOSED),
    handle: ({ deps, by }, { params, body }) => setTenantPlan(deps, params.tenantId, body.planName, by),
  }),
  route('PUT /tenants/:tenantId/price-group', {
    access: OPERATORS_WRITE,
    summary: 'Set a dealer’s price group; null: no group',
    params: tenantParams,
    body: Type.Object({ groupName: nullable(line(64)) }, CLOSED),
    handle: ({ deps, by }, { params, body }) => setTenantGroup(deps, params.tenantId, body.groupName, by),
  }),
  route('PUT /tenants/:tenantId/own-prices/:packageCode', {
    access: OPERATORS_WRITE,
    summary: 'Set a dealer’s own price of a package, in its currency',
    params: ownParams,
    body: Type.Object({ price: money() }, CLOSED),
    handle: ({ deps, by }, { params, body }) => setOwnPrice(deps, { ...params, price: BigInt(body.price) }, by),
  }),
  route('DELETE /tenants/:tenantId/own-prices/:packageCode', {
    access: OPERATORS_WRITE,
    summary: 'Delete a dealer’s own price. Plan, group or list price apply again',
    params: ownParams,
    handle: ({ deps, by }, { params }) => setOwnPrice(deps, { ...params, price: null }, by),
  }),
]

/** The prices that match, by package code; for a dealer only of packages on sale. @throws Refusal if a dealer filters by source */
function pricesFor(
  snapshot: Snapshot,
  buyer: Buyer,
  query: { keyword?: string; source?: PriceRow['source'] },
  { forOperator }: { forOperator: boolean },
): QuotedPackage[] {
  if (!forOperator && query.source !== undefined)
    throw invalidField('source', 'Only operators can filter prices by source. Leave it out.')
  return [...snapshot.quotes(buyer)]
    .filter((quoted) => (quoted.item.onSale || forOperator) && matches(quoted, query))
    .sort((a, b) => (a.item.packageCode < b.item.packageCode ? -1 : 1))
}

function matches({ item, quote }: QuotedPackage, query: { keyword?: string; source?: PriceRow['source'] }): boolean {
  if (query.source && quote.source !== query.source) return false
  const keyword = query.keyword?.toLowerCase() ?? ''
  return item.packageCode.toLowerCase().includes(keyword) || item.name.toLowerCase().includes(keyword)
}

function rowOf({ item, quote }: QuotedPackage) {
  const { packageCode, name, onSale } = item
  const { price, retailPrice } = quote
  return { packageCode, name, status: onSale ? ('ON_SALE' as const) : ('OFF_SALE' as const), price, retailPrice }
}

function sourceOf({ item, quote }: QuotedPackage, { currencyCode }: Buyer) {
  return { source: quote.source, listPrice: listPriceOf(item, currencyCode) }
}
