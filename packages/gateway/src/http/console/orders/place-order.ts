import { DATA_TYPES, LINE_COUNT_MAX, type Package, PERIOD_NUM_MAX } from '@dealer-esim/contract'
import { COUNTED_ROWS_MAX, countOf } from '@dealer-esim/lib/postgres/count-rows.ts'
import Type, { type Static } from 'typebox'
import { listSoldLocations } from '#catalogue/locations.ts'
import { countListed, listPackages } from '#catalogue/snapshot/list-packages.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { BUYERS, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams } from '../kernel/route-schemas.ts'
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
/** Bounds what a page with a stuck key can order. */
const ORDERS_PER_MINUTE = 60

/** Orders by the dealer's own people, exactly as by the dealer API. */
export const placeOrderRoutes: Route[] = [
  ...listRoutes({
    name: 'packages',
    path: '/tenants/:tenantId/buyable-packages',
    access: BUYERS,
    summary: 'The packages that this dealer can buy now, at its prices, newest first',
    params: tenantParams,
    filters,
    row: buyablePackage,
    sorts: {},
    firstSort: '',
    async find({ deps }, query, { after, limit }, { tenantId }) {
      const buyer = await getActiveBuyer(deps, tenantId)
      const page = { ...query, pageSize: limit, ...(after && { cursor: after[0] }) }
      const { packageList, nextCursor } = listPackages(await deps.catalogue.latest(), buyer, page)
      return { rows: packageList.flatMap(rowOf), next: nextCursor === null ? null : [nextCursor] }
    },
    async count({ deps }, query, params) {
      const buyer = await getActiveBuyer(deps, params.tenantId)
      return countOf(countListed(await deps.catalogue.latest(), buyer, query, COUNTED_ROWS_MAX))
    },
    csv: {
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
