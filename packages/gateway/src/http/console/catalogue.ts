import { Readable } from 'node:stream'
import { DATA_TYPES, PACKAGE_STATUSES } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { exportPackages } from '#catalogue/files/export-packages.ts'
import { importPackages } from '#catalogue/files/import-packages.ts'
import type { PackageDocument } from '#catalogue/packages/package-document.ts'
import { setOnSale } from '#catalogue/packages/put-packages.ts'
import {
  countPackages,
  findLackingMoney,
  listDocumentBatches,
  type PackageFilter,
  type PackageSort,
  positionOf,
} from '#catalogue/packages/read-packages.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { sendCsv } from './kernel/csv-route.ts'
import { file, fileAnswers, toAnswers } from './kernel/file-answers.ts'
import { listRoutes } from './kernel/list-routes.ts'
import { type Context, OPERATORS, OPERATORS_WRITE, type Route, route } from './kernel/route.ts'
import { CLOSED, line, money, nullable } from './kernel/route-schemas.ts'

const packageRow = Type.Object({
  packageCode: Type.String(),
  name: Type.String(),
  status: Type.Enum(PACKAGE_STATUSES),
  lacksMoney: Type.Boolean({
    description: 'Off sale, whatever its status: the operator’s account at each of its suppliers is out of funds',
  }),
  dataType: Type.Enum(DATA_TYPES),
  volume: nullable(Type.Integer()),
  duration: Type.Integer(),
  locationCodes: Type.Array(Type.String()),
  prices: Type.Array(Type.Object({ currencyCode: Type.String(), price: money(), retailPrice: nullable(money()) })),
  suppliers: Type.Array(
    Type.Object({
      supplier: Type.String(),
      productCode: Type.String(),
      costPrice: nullable(money()),
      costCurrency: nullable(Type.String()),
    }),
  ),
})
export type PackageRow = Static<typeof packageRow>

const filters = {
  keyword: Type.Optional(line(100)),
  locationCode: Type.Optional(Type.String({ pattern: '^([A-Z]{2}|!RG|!GL)$' })),
  status: Type.Optional(Type.Enum(PACKAGE_STATUSES)),
  dataType: Type.Optional(Type.Enum(DATA_TYPES)),
  supplier: Type.Optional(line(64)),
}

const importError = Type.Object({
  row: Type.Integer({ description: '0: the file as a whole' }),
  column: Type.String({ description: 'Empty: the row as a whole' }),
  packageCode: nullable(Type.String()),
  value: nullable(Type.String({ description: 'The beginning of the faulty cell' })),
  reason: sentence('What is wrong, and how to correct it'),
})

const importReport = Type.Object({
  imported: Type.Boolean(),
  rows: Type.Integer(),
  added: Type.Integer(),
  changed: Type.Integer(),
  unchanged: Type.Integer(),
  doubtful: Type.Integer({ description: 'Packages with a price that falls by half, is removed, or is below cost' }),
  errorRows: Type.Integer(),
  question: Type.Optional(Type.Unknown({ description: 'With the answer as encoding or map, the file can be read' })),
  ignoredColumns: Type.Array(Type.String({ description: 'Columns of the file that map leaves out' })),
  errors: Type.Array(importError),
  changes: Type.Array(Type.Unknown()),
  suppliers: Type.Array(Type.String()),
  unknownSuppliers: Type.Array(Type.String()),
})

const FILE_SIZE_MAX_BYTES = 64 * 1024 * 1024

export const catalogueRoutes: Route[] = [
  ...listRoutes({
    name: 'packages',
    path: '/packages',
    access: OPERATORS,
    summary: 'Packages by code, with list prices and suppliers',
    filters,
    row: packageRow,
    // The catalogue is small enough to be sorted as a whole.
    sorts: { packageCode: 'INDEX', name: 'INDEX', duration: 'INDEX', volume: 'INDEX' },
    firstSort: 'packageCode',
    async find({ deps }, filter, { column, ascending, after, limit }) {
      const order = { column: column as PackageSort, ascending }
      // Keywords and locations are matched in memory, so those searches read more rows than a page has.
      const isMatchedInMemory = filter.keyword !== undefined || filter.locationCode !== undefined
      const part = { ...order, after, ...(!isMatchedInMemory && { rows: limit + 1 }) }
      const found: PackageDocument[] = []
      for await (const batch of listDocumentBatches(deps.db, filter, part)) {
        found.push(...batch)
        if (found.length > limit) break
      }
      const shown = found.slice(0, limit)
      const lacking = await findLackingMoney(
        deps.db,
        shown.map(({ packageCode }) => packageCode),
      )
      return {
        rows: shown.map((row) => rowOf(row, lacking.has(row.packageCode))),
        next: found.length > limit ? positionOf(shown.at(-1)!, order) : null,
      }
    },
    count: async ({ deps }, filter) => ({ ...(await countPackages(deps.db, filter)), sums: [] }),
  }),
  route('GET /packages.csv', {
    access: OPERATORS,
    summary: 'The same packages as CSV, which can be imported',
    query: Type.Object(filters, CLOSED),
    answer: Type.String(),
    answerType: 'text/csv',
    handle: async (context, { query }) => exportFile(context, query),
  }),
  route('POST /packages/import', {
    access: OPERATORS_WRITE,
    summary: 'Import packages from CSV, all or none. dryRun shows what would change',
    query: Type.Object({ dryRun: Type.Boolean(), ...fileAnswers }, CLOSED),
    body: file(),
    bodyType: 'text/csv',
    limit: 'file',
    bodyLimit: FILE_SIZE_MAX_BYTES,
    answer: importReport,
    async handle({ deps, by }, { query, body }) {
      const source = Readable.from([body])
      const options = { format: 'csv', source, dryRun: query.dryRun, answers: toAnswers(query) } as const
      const { errors, changes, suppliers, unknownSuppliers, ignoredColumns, ...counts } = await importPackages(
        deps,
        options,
        by,
      )
      const lists = { errors: [...errors], changes: [...changes], suppliers: [...suppliers] }
      return { ...counts, ...lists, unknownSuppliers: [...unknownSuppliers], ignoredColumns: [...ignoredColumns] }
    },
  }),
  route('POST /packages/sale', {
    access: OPERATORS_WRITE,
    summary: 'Put packages on sale or take them off sale',
    body: Type.Object(
      { packageCodes: Type.Array(line(64), { minItems: 1, maxItems: 1_000 }), onSale: Type.Boolean() },
      CLOSED,
    ),
    answer: Type.Object({ changed: Type.Array(Type.String()) }),
    async handle({ deps, by }, { body }) {
      return { changed: await setOnSale(deps, { packageCodes: body.packageCodes }, body.onSale, by) }
    },
  }),
]

/** The export does not wait for the caller, so a slow caller occupies memory but no transaction. */
async function exportFile({ deps, reply }: Context, filter: PackageFilter): Promise<string> {
  const csv = new Readable({ read() {} })
  const writing = exportPackages(deps.db, 'csv', filter, async (text) => void csv.push(text))
  writing.then(
    () => csv.push(null),
    (error: Error) => csv.destroy(error),
  )
  return sendCsv(reply, 'packages.csv', csv)
}

function rowOf(row: PackageDocument, lacksMoney: boolean): PackageRow {
  const { packageCode, name, status, dataType, volume, duration, locationCodes, prices, suppliers } = row
  return { packageCode, name, status, lacksMoney, dataType, volume, duration, locationCodes, prices, suppliers }
}
