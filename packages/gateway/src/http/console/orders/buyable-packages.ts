import { DATA_TYPES } from '@dealer-esim/contract'
import { COUNTED_ROWS_MAX, countOf } from '@dealer-esim/lib/postgres/count-rows.ts'
import Type, { type Static } from 'typebox'
import type { QuotedPackage, Snapshot } from '#catalogue/catalogue.ts'
import { isCountry, salesLocation } from '#catalogue/coverage.ts'
import { countListed, listPackages } from '#catalogue/snapshot/list-packages.ts'
import { isMailPossible } from '#orders/traveller.ts'
import { placeOf } from '#products/rules/place-name.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { BUYERS, type Context, type Route, route } from '../kernel/route.ts'
import { line, money, nullable, tenantParams } from '../kernel/route-schemas.ts'
import { getActiveBuyer } from './buyer.ts'

const buyablePackage = Type.Object({
  packageCode: Type.String(),
  name: Type.String(),
  dataType: Type.Enum(DATA_TYPES),
  volume: nullable(Type.Integer({ description: 'Bytes; null: unlimited' })),
  duration: Type.Integer(),
  locationCodes: Type.Array(Type.String()),
  place: Type.String({ description: 'Its only country, or the name of its region, such as Europe' }),
  speed: nullable(Type.String()),
  ekycRequired: Type.Boolean({ description: 'The traveller must prove their identity' }),
  price: money(),
  retailPrice: nullable(money()),
  currencyCode: Type.String(),
  periodNumMin: nullable(Type.Integer({ description: 'Of a day pass, which is priced by the day' })),
  periodNumMax: nullable(Type.Integer()),
})
export type BuyablePackage = Static<typeof buyablePackage>

const place = Type.Object({
  place: Type.String({ description: 'A country’s code, or the name of a region' }),
  locationCode: Type.String({ description: 'The country, !RG or !GL' }),
  from: money(),
  currencyCode: Type.String(),
  packages: Type.Integer(),
})
export type Place = Static<typeof place>

const filters = {
  locationCode: Type.Optional(Type.String({ pattern: '^([A-Z]{2}|!RG|!GL)$' })),
  keyword: Type.Optional(line(100)),
}

/** The packages that a dealer’s people can choose from: as a list, by place, and all packages for one place. */
export const buyablePackageRoutes: Route[] = [
  ...listRoutes({
    name: 'packages',
    path: '/tenants/:tenantId/buyable-packages',
    access: BUYERS,
    testMode: 'TWIN',
    summary: 'The packages that this dealer can buy now, at its prices, newest first',
    params: tenantParams,
    filters,
    row: buyablePackage,
    sorts: {},
    firstSort: '',
    async find({ deps }, query, { after, limit }, { tenantId }) {
      const buyer = await getActiveBuyer(deps, tenantId)
      const catalogue = await deps.catalogue.latest()
      const page = { ...query, pageSize: limit, ...(after && { cursor: after[0] }) }
      const { packageList, nextCursor } = listPackages(catalogue, buyer, page)
      const rows = packageList.flatMap((each) => (each.status === 'ON_SALE' ? [rowOf(catalogue, each)] : []))
      return { rows, next: nextCursor === null ? null : [nextCursor] }
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
  route('GET /tenants/:tenantId/buyable-packages/places', {
    access: BUYERS,
    testMode: 'TWIN',
    summary: 'Where the packages work that this dealer can buy: countries, and regions by name',
    params: tenantParams,
    answer: Type.Object({
      places: Type.Array(place),
      isMailPossible: Type.Boolean({ description: 'An order may have a traveller who gets it by e-mail' }),
    }),
    async handle(context, { params }) {
      const { quoted, buyer } = await listQuoted(context, params.tenantId)
      const places = placesOf(quoted, buyer.currencyCode)
      return { places, isMailPossible: isMailPossible(context.deps.config) }
    },
  }),
  route('GET /tenants/:tenantId/buyable-packages/at', {
    access: BUYERS,
    testMode: 'TWIN',
    summary: 'What this dealer can buy for one place, cheapest first: of a country also the regions that cover it',
    params: tenantParams,
    query: Type.Object({ place: line(64) }),
    answer: Type.Object({ packages: Type.Array(buyablePackage) }),
    async handle(context, { params, query }) {
      const { quoted, buyer } = await listQuoted(context, params.tenantId)
      const covers = (one: QuotedPackage) =>
        isCountry(query.place) ? coversCountry(one, query.place) : placeOfPackage(one.item) === query.place
      const found = quoted.filter(covers).sort((left, right) => Number(left.quote.price - right.quote.price))
      return {
        packages: found.slice(0, AT_PLACE_MAX).map(({ item, quote }) => ({
          ...describe(item),
          price: quote.price,
          retailPrice: quote.retailPrice,
          currencyCode: buyer.currencyCode,
        })),
      }
    },
  }),
]

/** Bounds an answer: no wholesaler sells that many packages for one country. */
const AT_PLACE_MAX = 1_000

async function listQuoted({ deps }: Context, tenantId: string) {
  const buyer = await getActiveBuyer(deps, tenantId)
  const catalogue = await deps.catalogue.latest()
  const quoted = [...catalogue.quotes(buyer)].filter(({ item }) => item.onSale && item.packageType === 'BASE')
  return { buyer, quoted }
}

type Item = QuotedPackage['item']

function describe(item: Item) {
  const { packageCode, name, dataType, duration, speed, ekycRequired, periodNumMin, periodNumMax } = item
  return {
    ...{ packageCode, name, dataType, duration, speed, ekycRequired, periodNumMin, periodNumMax },
    volume: item.volume === null ? null : Number(item.volume),
    locationCodes: [...item.coverage.locationCodes],
    place: placeOfPackage(item),
  }
}

function rowOf(catalogue: Pick<Snapshot, 'find'>, listed: Listed): BuyablePackage {
  const { price, retailPrice, currencyCode } = listed
  return { ...describe(catalogue.find(listed.packageCode)!), price, retailPrice, currencyCode }
}

type Listed = Extract<ReturnType<typeof listPackages>['packageList'][number], { status: 'ON_SALE' }>

/** The only country of a package, or the name of its region: `JP`, `Europe`, `Japan and South Korea`, `13 countries`. */
function placeOfPackage({ name, coverage }: Item): string {
  const sold = salesLocation(coverage)
  const countries = [...coverage.locations].filter(isCountry)
  return isCountry(sold) || countries.length === 0 ? sold : placeOf({ countries, name })
}

function coversCountry({ item }: QuotedPackage, country: string): boolean {
  const { locations } = item.coverage
  return locations.has(country) || locations.has('*')
}

/**
 * Countries by code and regions by name, each with its lowest price: for a country, that of its own packages if it has any.
 */
function placesOf(quoted: readonly QuotedPackage[], currencyCode: string) {
  const places = new Map<string, Omit<Place, 'from'> & { from: bigint; isLocal: boolean }>()
  const add = (place: string, locationCode: string, price: bigint, isLocal: boolean) => {
    const known = places.get(place)
    const count = (known?.packages ?? 0) + 1
    const isCheaper = known === undefined || (isLocal === known.isLocal ? price < known.from : isLocal)
    const { from, isLocal: ofLocal } = isCheaper ? { from: price, isLocal } : known
    places.set(place, { place, locationCode, from, isLocal: ofLocal, currencyCode, packages: count })
  }
  for (const { item, quote } of quoted) {
    const sold = salesLocation(item.coverage)
    for (const code of item.coverage.locations) if (isCountry(code)) add(code, code, quote.price, code === sold)
    if (!isCountry(sold)) add(placeOfPackage(item), sold, quote.price, true)
  }
  return [...places.values()].map(({ isLocal: _, ...place }) => place)
}
