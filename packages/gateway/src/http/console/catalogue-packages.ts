import { notFound } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { type Buyer, getBuyer, type Snapshot } from '#catalogue/catalogue.ts'
import { type PackageDocument, packageDocumentSchema } from '#catalogue/packages/package-document.ts'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { findLackingMoney, getPackage } from '#catalogue/packages/read-packages.ts'
import { cheapestCost, type Explanation, explainPrice, type PriceStep } from '#catalogue/prices/explain-price.ts'
import { ruleDetails } from '#catalogue/prices/price-plans.ts'
import { isUsableIn } from '#suppliers/supplier-registry.ts'
import { countTenants, searchTenants, type TenantSort } from '#tenants/search-tenants.ts'
import type { TenantSummary } from '#tenants/tenant-views.ts'
import { listRoutes } from './kernel/list-routes.ts'
import { type Context, OPERATORS, OPERATORS_WRITE, type Route, route } from './kernel/route.ts'
import { CLOSED, line, money, nullable, time, toDate, uuid } from './kernel/route-schemas.ts'
import { rule } from './prices/plan-rule.ts'

export interface PackageDetail {
  package: PackageDocument
  revision: string
  lacksMoney: boolean
  listPrices: Static<typeof pricedRow>[]
}

const pricedRow = Type.Object({
  currencyCode: Type.String(),
  price: money(),
  cost: nullable(Type.Integer({ description: 'The lowest cost of a usable supplier in the currency; null: unknown' })),
})

const SOURCES = ['OWN', 'PLAN', 'GROUP', 'LIST'] as const
const STATES = [
  ...(['DECIDES', 'OVERRIDDEN', 'NONE', 'NOT_YET', 'ENDED', 'NO_LIST_PRICE', 'NO_COST', 'TOO_HIGH'] as const),
] satisfies PriceStep['state'][]

const decided = {
  currencyCode: Type.String(),
  price: nullable(money()),
  source: nullable(Type.Enum(SOURCES)),
  planName: nullable(Type.String({ description: 'Of the rule that decides' })),
  rule: nullable(rule),
  cost: nullable(money()),
}

const buyerRow = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  createdAt: Type.String({ format: 'date-time', description: 'Of the dealer' }),
  ...decided,
})
export type PackageBuyer = Static<typeof buyerRow>

const explanation = Type.Object({
  ...decided,
  at: time(),
  retailPrice: nullable(money()),
  steps: Type.Array(
    Type.Object({
      source: Type.Enum(SOURCES),
      planName: nullable(Type.String()),
      rule: nullable(rule),
      price: nullable(money()),
      state: Type.Enum(STATES, { description: 'DECIDES, or why this step does not' }),
    }),
    { description: 'Every candidate, in the order of precedence' },
  ),
})
export type PriceExplanation = Static<typeof explanation>

const params = Type.Object({ packageCode: line(64) }, CLOSED)
const buyerFilter = { q: Type.Optional(line(100)) }
/** Checked by the catalogue, which lists each faulty member (catalogue/packages/merge-packages.ts). */
const members = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Members as in a JSON file of packages; absent ones stay as they are',
})

export const packageRoutes: Route[] = [
  route('GET /packages/:packageCode', {
    access: OPERATORS,
    summary: 'A package with everything that operators can edit, and its revision',
    params,
    answer: Type.Object({
      package: packageDocumentSchema,
      revision: time(),
      lacksMoney: Type.Boolean({ description: 'Not sold: the operator’s account at each supplier is out of funds' }),
      listPrices: Type.Array(pricedRow),
    }),
    async handle({ deps }, { params: { packageCode } }) {
      const { document, revision } = await getPackage(deps.db, packageCode)
      const lacksMoney = (await findLackingMoney(deps.db, [packageCode])).has(packageCode)
      return { package: document, revision, lacksMoney, listPrices: await listPricesOf(deps, packageCode) }
    },
  }),
  route('POST /packages', {
    access: OPERATORS_WRITE,
    summary: 'Add a package',
    body: members,
    handle: ({ deps, by }, { body }) => putPackages(deps, [body], by, { mustBeNew: true }),
  }),
  route('PUT /packages/:packageCode', {
    access: OPERATORS_WRITE,
    summary: 'Change a package. Refused if its revision is not the one that was read',
    params,
    body: Type.Object({ revision: time(), package: members }, CLOSED),
    async handle({ deps, by }, { params, body }) {
      const input = { ...body.package, ...params }
      await putPackages(deps, [input], by, { mustExist: true, revision: new Date(body.revision) })
    },
  }),
  ...listRoutes({
    name: 'buyers',
    file: 'package-prices',
    path: '/packages/:packageCode/buyers',
    access: OPERATORS,
    summary: 'What each dealer pays for a package, and the rule that decides',
    params,
    filters: buyerFilter,
    row: buyerRow,
    sorts: { createdAt: 'INDEX', clientName: 'FILTERED' },
    firstSort: '-createdAt',
    async find({ deps }, { q }, { column, ...page }, { packageCode }) {
      const found = await searchTenants(deps.db, { keyword: q }, { column: column as TenantSort, ...page })
      return { rows: buyersAt(deps, await deps.catalogue.latest(), packageCode, found.rows), next: found.next }
    },
    // Without the dealers' balances, which the list does not show.
    count: async ({ deps }, { q }) => ({ ...(await countTenants(deps.db, { keyword: q })), sums: [] }),
    csv: {
      dealer: (row) => row.clientName,
      price: (row) => row.price,
      currency: (row) => row.currencyCode,
      source: (row) => row.source,
      plan: (row) => row.planName,
      cost: (row) => row.cost,
      id: (row) => row.tenantId,
    },
  }),
  route('GET /packages/:packageCode/explanation', {
    access: OPERATORS,
    summary: 'Why a dealer pays what it pays for a package, now or at another time',
    params,
    query: Type.Object({ tenantId: uuid(), at: Type.Optional(time()) }, CLOSED),
    answer: explanation,
    async handle({ deps }, { params, query }) {
      const buyer = await getBuyer(deps.db, query.tenantId)
      const snapshot = await deps.catalogue.latest()
      const at = toDate(query.at) ?? new Date(snapshot.now())
      const explained = explain(deps, snapshot, buyer, params.packageCode, at.getTime())
      return {
        ...decidedOf(explained, buyer.currencyCode),
        at,
        retailPrice: explained.quote.retailPrice,
        steps: explained.steps.map(({ rule, ...step }) => ({ ...step, rule: rule && ruleDetails(rule) })),
      }
    },
  }),
]

function buyersAt(deps: Context['deps'], snapshot: Snapshot, packageCode: string, tenants: readonly TenantSummary[]) {
  const now = snapshot.now()
  return tenants.map(({ tenantId, clientName, createdAt, currencyCode }) => {
    const explained = explain(deps, snapshot, { tenantId, currencyCode }, packageCode, now)
    return { tenantId, clientName, createdAt, ...decidedOf(explained, currencyCode) }
  })
}

function explain(
  deps: Context['deps'],
  snapshot: Snapshot,
  buyer: Buyer,
  packageCode: string,
  now: number,
): Explanation {
  const item = snapshot.find(packageCode)
  if (!item) throw notFound('package', packageCode)
  return explainPrice(snapshot, buyer, item, { now, isUsable: isUsableIn(deps.suppliers) })
}

/** The list prices of a package, each with the lowest cost in its currency. */
async function listPricesOf(deps: Context['deps'], packageCode: string) {
  const item = (await deps.catalogue.latest()).find(packageCode)
  if (!item) return []
  return item.prices
    .filter(({ removed }) => !removed)
    .map(({ currencyCode, price }) => {
      return { currencyCode, price, cost: cheapestCost(item, currencyCode, isUsableIn(deps.suppliers)) }
    })
}

function decidedOf({ quote: { price, source, decidedBy }, cost }: Explanation, currencyCode: string) {
  const rule = decidedBy && ruleDetails(decidedBy.rule)
  return { currencyCode, price: price ?? null, source, planName: decidedBy?.planName ?? null, rule, cost }
}
