import { PACKAGE_TYPES } from '@dealer-esim/contract'
import { memberColumns } from '@dealer-esim/lib/csv.ts'
import Type, { type Static } from 'typebox'
import { sentence } from '#people/languages/translate-answer.ts'
import { countProducts, listCosts, searchProducts } from '#products/list-products.ts'
import { acceptCatalogue } from '#products/sync/accept-catalogue.ts'
import {
  EVERY_MINUTES_MAX,
  EVERY_MINUTES_MIN,
  getSync,
  listSyncs,
  requestSync,
  type SyncState,
  setSyncInterval,
} from '#products/sync/sync-state.ts'
import { listRoutes } from '../kernel/list-routes.ts'
import { OPERATORS, OPERATORS_WRITE, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, time } from '../kernel/route-schemas.ts'

const product = Type.Object({
  supplier: Type.String(),
  productCode: Type.String(),
  name: Type.String(),
  packageType: Type.Enum(PACKAGE_TYPES),
  countries: Type.Array(Type.String()),
  volume: nullable(Type.Integer({ description: 'Bytes, of a day pass for one day; null: unlimited' })),
  isDayPass: Type.Boolean(),
  durationDays: Type.Integer(),
  cost: money(),
  currencyCode: Type.String(),
  fupPolicy: nullable(Type.String({ description: 'The condition of a fair use, in the words of the supplier' })),
  included: nullable(Type.String({ description: 'Calls and SMS besides the data; null: none are known' })),
  isListed: Type.Boolean({ description: 'false: it has left the catalogue' }),
  firstSeenAt: time(),
  changedAt: time(),
  packageCodes: Type.Array(Type.String({ description: 'Packages that are bought as this product, the first ten' })),
})
export type SupplierProductRow = Static<typeof product>

const sync = Type.Object({
  supplier: Type.String(),
  everyMinutes: nullable(Type.Integer({ description: 'null: only on demand' })),
  dueAt: nullable(time()),
  isRunning: Type.Boolean(),
  startedAt: nullable(time()),
  productsRead: Type.Integer({ description: 'By the running sync, or by the latest one' }),
  finishedAt: nullable(time()),
  outcome: nullable(Type.Enum(['DONE', 'HELD', 'FAILED'])),
  message: nullable(sentence('Why it was held or failed')),
  listed: Type.Integer({ description: 'Products in the latest accepted catalogue' }),
  acceptedAt: nullable(time()),
  heldAt: nullable(Type.String({ format: 'date-time', description: 'Of a catalogue that waits to be accepted' })),
  unreadable: Type.Integer({ description: 'Entries of the latest answer that could not be read' }),
  kept: Type.Integer({ description: 'Products that stay as they were, because their entry could not be read' }),
  unreadableEntries: Type.Array(Type.Object({ entry: Type.String(), reason: sentence() }), {
    description: 'The first of the unreadable entries',
  }),
})
export type SupplierSync = Static<typeof sync>

const filters = {
  supplier: Type.Optional(line(64)),
  keyword: Type.Optional(line(100)),
  country: Type.Optional(Type.String({ pattern: '^[A-Z]{2}$' })),
  packageType: Type.Optional(Type.Enum(PACKAGE_TYPES)),
  isListed: Type.Optional(Type.Boolean({ description: 'Default: true' })),
  isSold: Type.Optional(Type.Boolean({ description: 'Whether a package is bought as it' })),
}

const params = Type.Object({ supplier: line(64) }, CLOSED)

export const supplierProductRoutes: Route[] = [
  ...listRoutes({
    name: 'products',
    file: 'supplier-products',
    path: '/supplier-products',
    access: OPERATORS,
    summary: 'Products in the catalogues of suppliers, by supplier and code',
    filters,
    row: product,
    sorts: { supplier: 'INDEX' },
    firstSort: 'supplier',
    async find({ deps }, search, { after, ascending, limit }) {
      const rows = await searchProducts(deps.db, search, { after, ascending, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const { supplier, productCode } = shown.at(-1) ?? { supplier: '', productCode: '' }
      return { rows: shown, next: rows.length > limit ? [supplier, productCode] : null }
    },
    count: ({ deps }, search) => countProducts(deps.db, search),
    csv: {
      code: (row) => row.productCode,
      supplier: (row) => row.supplier,
      name: (row) => row.name,
      type: (row) => row.packageType,
      countries: (row) => row.countries.join(' '),
      volumeBytes: (row) => (row.volume === null ? null : Number(row.volume)),
      ...memberColumns('isDayPass', 'durationDays', 'cost'),
      currency: (row) => row.currencyCode,
      fairUse: (row) => row.fupPolicy,
      ...memberColumns('included', 'isListed', 'firstSeenAt', 'changedAt'),
      packages: (row) => row.packageCodes.join(' '),
    },
  }),
  route('GET /supplier-products/costs', {
    access: OPERATORS,
    summary: 'What a product has cost, the latest first',
    query: Type.Object({ supplier: line(64), productCode: line(128) }, CLOSED),
    answer: Type.Object({
      costs: Type.Array(
        Type.Object({
          since: time(),
          cost: nullable(money()),
          currencyCode: nullable(Type.String({ description: 'null, like the cost, if it was not listed' })),
        }),
      ),
    }),
    handle: async ({ deps }, { query }) => ({ costs: await listCosts(deps.db, query.supplier, query.productCode) }),
  }),
  route('GET /supplier-syncs', {
    access: OPERATORS,
    summary:
      'When the catalogues of suppliers were read, how that ended, and the progress of those that are being read',
    answer: Type.Object({ syncs: Type.Array(sync) }),
    handle: async ({ deps }) => ({ syncs: (await listSyncs(deps.db)).map(shown) }),
  }),
  route('POST /suppliers/:supplier/sync', {
    access: OPERATORS_WRITE,
    summary: 'Read the catalogue of a supplier now. A worker does it; GET /supplier-syncs shows its progress',
    params,
    answer: sync,
    async handle({ deps, by }, { params }) {
      await requestSync(deps, params.supplier, by)
      return shown(await getSync(deps.db, params.supplier))
    },
  }),
  route('PUT /suppliers/:supplier/sync', {
    access: OPERATORS_WRITE,
    summary: 'Set how often the catalogue of a supplier is read; null: only on demand',
    params,
    body: Type.Object(
      { everyMinutes: nullable(Type.Integer({ minimum: EVERY_MINUTES_MIN, maximum: EVERY_MINUTES_MAX })) },
      CLOSED,
    ),
    answer: sync,
    async handle({ deps, by }, { params, body }) {
      await setSyncInterval(deps, params.supplier, body.everyMinutes, by)
      return shown(await getSync(deps.db, params.supplier))
    },
  }),
  route('POST /suppliers/:supplier/sync/accept', {
    access: OPERATORS_WRITE,
    summary: 'Accept a catalogue that was held, as it was read at that time',
    params,
    body: Type.Object({ heldAt: time() }, CLOSED),
    answer: sync,
    async handle({ deps, by }, { params, body }) {
      await acceptCatalogue(deps, params.supplier, new Date(body.heldAt), by)
      return shown(await getSync(deps.db, params.supplier))
    },
  }),
]

function shown(state: SyncState) {
  return { ...state }
}
