import { DATA_TYPES, LINE_COUNT_MAX, type Package, PERIOD_NUM_MAX } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { listSoldLocations } from '../../../catalogue/locations.ts'
import { countListed, listPackages } from '../../../catalogue/snapshot/list.ts'
import { COUNTED_ROWS_MAX, countOf } from '../../../lib/postgres/count-rows.ts'
import { csvRoute } from '../../kernel/csv-route.ts'
import { totalsRoute } from '../../kernel/list.ts'
import { limit, PAGE_SIZE, pageSchema } from '../../kernel/paging.ts'
import { BUYERS, type Route, route } from '../../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams } from '../../kernel/schemas.ts'
import { getActiveBuyer, placedOrder, placeForPerson, transactionId } from './buyer.ts'

const buyablePackage = Type.Object({
  packageCode: Type.String(),
  name: Type.String(),
  dataType: Type.Enum(DATA_TYPES),
  volume: nullable(Type.Integer({ description: 'Bytes; null: unlimited' })),
  duration: Type.Integer(),
  locationCodes: Type.Array(Type.String()),
  speed: nullable(Type.String()),
  ekycRequired: Type.Boolean({ description: 'The traveller must prove their identity' }),
  price: money(),
  currencyCode: Type.String(),
  periodNumMin: nullable(Type.Integer({ description: 'Of a day pass, which is priced by the day' })),
  periodNumMax: nullable(Type.Integer()),
})
export type BuyablePackage = Static<typeof buyablePackage>

const filters = {
  locationCode: Type.Optional(Type.String({ pattern: '^([A-Z]{2}|!RG|!GL)$' })),
  keyword: Type.Optional(line(100)),
}
const FILE_PART_ROWS = 500
/** Bounds what a page with a stuck key can order. */
const ORDERS_PER_MINUTE = 60

/** Orders by the dealer's own people, exactly as by the dealer API. */
export const placeOrderRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/tenants/:tenantId/buyable-packages',
    access: BUYERS,
    summary: 'The packages that this dealer can buy now, at its prices, newest first',
    params: tenantParams,
    query: Type.Object(
      { ...filters, limit: limit(), cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })) },
      CLOSED,
    ),
    answer: pageSchema('packages', buyablePackage),
    async handle({ deps }, { params, query: { limit: pageSize = PAGE_SIZE, ...query } }) {
      const buyer = await getActiveBuyer(deps, params.tenantId)
      const catalogue = await deps.catalogue.latest()
      const { packageList, nextCursor } = listPackages(catalogue, buyer, { ...query, pageSize })
      return { packages: packageList.flatMap(rowOf), nextCursor }
    },
  }),
  totalsRoute({
    path: '/tenants/:tenantId/buyable-packages',
    access: BUYERS,
    params: tenantParams,
    filters,
    async count({ deps }, query, params) {
      const buyer = await getActiveBuyer(deps, params.tenantId)
      return countOf(countListed(await deps.catalogue.latest(), buyer, query, COUNTED_ROWS_MAX))
    },
  }),
  csvRoute({
    path: '/tenants/:tenantId/buyable-packages.csv',
    access: BUYERS,
    summary: 'The packages that this dealer can buy now as CSV, newest first',
    params: tenantParams,
    query: Type.Object(filters, CLOSED),
    file: 'packages',
    async *parts({ deps }, { params, query }) {
      const buyer = await getActiveBuyer(deps, params.tenantId)
      const catalogue = await deps.catalogue.latest()
      const part = { ...query, pageSize: FILE_PART_ROWS }
      for (
        let page = listPackages(catalogue, buyer, part);
        ;
        page = listPackages(catalogue, buyer, { ...part, cursor: page.nextCursor })
      ) {
        yield page.packageList.flatMap(rowOf)
        if (page.nextCursor === null) return
      }
    },
    columns: {
      code: (row) => row.packageCode,
      name: (row) => row.name,
      price: (row) => BigInt(row.price),
      currency: (row) => row.currencyCode,
      locations: (row) => row.locationCodes.join(' '),
      dataType: (row) => row.dataType,
      volumeBytes: (row) => row.volume,
      days: (row) => row.duration,
      daysMin: (row) => row.periodNumMin,
      daysMax: (row) => row.periodNumMax,
      speed: (row) => row.speed,
      identityCheck: (row) => row.ekycRequired,
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/:tenantId/buyable-packages/locations',
    access: BUYERS,
    summary: 'Where the packages work that this dealer can buy: countries, !RG and !GL',
    params: tenantParams,
    answer: Type.Object({ locationCodes: Type.Array(Type.String()) }),
    async handle({ deps }, { params }) {
      const buyer = await getActiveBuyer(deps, params.tenantId)
      return { locationCodes: listSoldLocations(await deps.catalogue.latest(), buyer) }
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/:tenantId/orders',
    access: BUYERS,
    summary: 'Buy eSIMs. A repeat with the same transactionId debits nothing. Audited',
    params: tenantParams,
    body: Type.Object(
      {
        transactionId: transactionId(),
        packageCode: Type.String({ minLength: 1, maxLength: 64 }),
        count: Type.Integer({ minimum: 1, maximum: LINE_COUNT_MAX }),
        periodNum: Type.Optional(Type.Integer({ minimum: 1, maximum: PERIOD_NUM_MAX })),
        amount: Type.Integer({ minimum: 0, description: 'Refused if the total has changed' }),
      },
      CLOSED,
    ),
    ratePerMinute: ORDERS_PER_MINUTE,
    answer: placedOrder,
    async handle({ deps, by }, { params, body }) {
      const tenant = await getActiveBuyer(deps, params.tenantId)
      const { transactionId, packageCode, count, periodNum, amount } = body
      const bought = { packageCode, count, ...(periodNum !== undefined && { periodNum }) }
      const input = {
        tenant,
        request: { transactionId, amount, packageInfoList: [bought] },
        orderId: deps.ids.uuid(),
      }
      return placeForPerson(deps, input, { action: 'order.place', after: body }, by)
    },
  }),
]

/** The row of a package, or none if it is off sale. */
function rowOf(each: Package): BuyablePackage[] {
  if (each.status !== 'ON_SALE') return []
  const { packageCode, name, dataType, volume, duration, locationCodes, speed, ekycRequired } = each
  const { price, currencyCode, periodNumMin, periodNumMax } = each
  const what = { packageCode, name, dataType, volume, duration, locationCodes, speed, ekycRequired }
  return [{ ...what, price, currencyCode, periodNumMin, periodNumMax }]
}
