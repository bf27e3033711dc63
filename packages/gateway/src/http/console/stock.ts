import { PassThrough, Readable } from 'node:stream'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { languageOf } from '#people/languages/people-language.ts'
import { translateFailure } from '#people/languages/translate-answer.ts'
import { importStock } from '#stock/import-stock.ts'
import { CsvRefused } from '#stock/stock-csv.ts'
import { listStock, setLowStock } from '#stock/stock-levels.ts'
import { failureOf } from './kernel/console-failures.ts'
import { csvRoute, inOnePart } from './kernel/csv-route.ts'
import { file, fileAnswers, toAnswers } from './kernel/file-answers.ts'
import { type ConsoleDeps, OPERATORS, OPERATORS_WRITE, type Route, route } from './kernel/route.ts'
import { CLOSED, line, nullable, time, toDate } from './kernel/route-schemas.ts'

const level = Type.Object({
  supplier: Type.String(),
  productCode: Type.String(),
  available: Type.Integer(),
  lowAt: nullable(Type.Integer()),
  packageCodes: Type.Array(Type.String({ description: 'Packages on sale that are bought as it, the first ten' })),
})
export type StockLevel = Static<typeof level>

/** A million codes. The command line streams larger files. */
const FILE_SIZE_MAX_BYTES = 128 * 1024 * 1024
const product = { supplier: line(64), productCode: line(128) }

export const stockRoutes: Route[] = [
  route('GET /stock', {
    access: OPERATORS,
    summary: 'Counted products and how many eSIMs are available; 0 for products that only packages name',
    answer: Type.Object({ levels: Type.Array(level), stockSuppliers: Type.Array(Type.String()) }),
    async handle({ deps }) {
      const levels = await listStock(deps.db)
      const suppliers = await deps.db.query<{ supplier: string }>(sql`
        select supplier from suppliers where type = 'stock' order by supplier`)
      return { levels, stockSuppliers: suppliers.map((row) => row.supplier) }
    },
  }),
  csvRoute({
    path: '/stock.csv',
    access: OPERATORS,
    summary: 'Counted products and how many eSIMs are available as CSV',
    file: 'stock',
    parts: ({ deps }) => inOnePart(listStock(deps.db)),
    columns: {
      product: (row) => row.productCode,
      supplier: (row) => row.supplier,
      available: (row) => row.available,
      alertBelow: (row) => row.lowAt,
      packages: (row) => row.packageCodes.join(' '),
    },
  }),
  route('POST /stock/low', {
    access: OPERATORS_WRITE,
    summary: 'Set below how many eSIMs an alert is created; null: never',
    body: Type.Object({ ...product, lowAt: nullable(Type.Integer({ minimum: 1, maximum: 100_000_000 })) }, CLOSED),
    handle: ({ deps, by }, { body }) => setLowStock(deps, body, by),
  }),
  route('POST /stock/import', {
    access: OPERATORS_WRITE,
    summary: 'Import a CSV of activation codes, all or none. Progress is returned as lines of JSON',
    query: Type.Object(
      {
        ...product,
        batchName: Type.Optional(line(100)),
        expiresAt: Type.Optional(time()),
        alertDays: Type.Optional(Type.Integer({ minimum: 0, maximum: 365, description: '0: no alert' })),
        ...fileAnswers,
      },
      CLOSED,
    ),
    body: file(),
    bodyType: 'text/csv',
    limit: 'file',
    bodyLimit: FILE_SIZE_MAX_BYTES,
    answer: Type.String({
      description: 'Lines of JSON: {rows} … then {codes, warnings} or {code, message, faults, count, question}',
    }),
    answerType: 'application/x-ndjson',
    async handle({ deps, by, request, reply }, { query, body }) {
      const lines = new PassThrough()
      const { translate } = languageOf(request)
      const writeLine = (value: object) => lines.write(`${JSON.stringify(translateFailure(value, translate))}\n`)
      const warnings: string[] = []
      const { alertDays } = query
      const terms = {
        expiresAt: toDate(query.expiresAt),
        ...(alertDays !== undefined && { alertDays: alertDays === 0 ? null : alertDays }),
      }
      // Not awaited, because the answer starts with the first line, long before the import ends.
      const reports = {
        progress: (rows: number) => writeLine({ rows }),
        warn: (text: string) => warnings.push(translate(text)),
      }
      const file = Readable.from(chunksOf(body))
      importStock(deps, { ...query, ...terms, ...reports, file, answers: toAnswers(query) }, by)
        .then(({ codes }) => writeLine({ codes, warnings }))
        .catch((error: unknown) => writeLine(refusalOf(error, deps)))
        .finally(() => lines.end())
      reply.type('application/x-ndjson')
      return lines as unknown as string
    },
  }),
]

function refusalOf(error: unknown, { log }: Pick<ConsoleDeps, 'log'>): object {
  if (error instanceof CsvRefused) {
    const { faults, count, question } = error
    const more = count > faults.length ? ` It has ${count} faults; the first ${faults.length} are listed.` : ''
    return { code: 'CSV_REFUSED', message: `Nothing was imported. Correct the file.${more}`, faults, count, question }
  }
  const { status, ...failure } = failureOf(error)
  // The answer has begun, so the server's error handler does not see the failure.
  if (status >= 500) log.error({ err: error }, 'stock import failed')
  return failure
}

const CHUNK_LENGTH = 64 * 1024

function* chunksOf(file: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < file.length; at += CHUNK_LENGTH) yield file.subarray(at, at + CHUNK_LENGTH)
}
