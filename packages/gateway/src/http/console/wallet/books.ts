import { Readable } from 'node:stream'
import { checkpointAnswer, consistencyAnswer, keysAnswer } from '@dealer-esim/contract'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { type BooksReader, readBooks, writeBooksFile } from '#wallet/books/books-file.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { csvFileName } from '#wallet/statement/entries-csv.ts'
import { getMonthVersions, getWalletHistory } from '#wallet/statement/statement-month.ts'
import { EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, nullable, tenantParams } from '../kernel/route-schemas.ts'
import { month } from './wallet.ts'

const knownSize = Type.Optional(
  Type.Integer({
    minimum: 0,
    description: 'Size of the checkpoint that the reader remembers: a consistency proof from it',
  }),
)

const { note, ...checkpoint } = checkpointAnswer.properties
const books = Type.Object({
  checkpoint: Type.Object(checkpoint),
  note,
  ...keysAnswer.properties,
  consistency: nullable(Type.Object({ fromSize: Type.Integer(), ...consistencyAnswer.properties })),
})
export type BooksView = Static<typeof books>

export const booksRoutes: Route[] = [
  route('GET /tenants/:tenantId/books', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'The newest checkpoint of the ledger, and what verifies it',
    params: tenantParams,
    query: Type.Object({ knownSize }, CLOSED),
    answer: Type.Object({ books: nullable(books) }),
    async handle({ deps }, { params: { tenantId }, query }) {
      return { books: (await readBooks(deps, tenantId, query.knownSize)) ?? null }
    },
  }),
  // People who may only read can also call this: it changes no amount, and without it the orders of the last hour cannot be checked.
  route('POST /tenants/:tenantId/books/checkpoints', {
    access: EVERY_ROLE,
    duringView: true,
    testMode: 'TWIN',
    summary: 'Sign a checkpoint of all entries that are in the tree, at most one a second',
    params: tenantParams,
    answer: checkpointAnswer,
    async handle({ deps }, { params: { tenantId } }) {
      return getCheckpoint(deps, tenantId, {})
    },
  }),
  route('GET /tenants/:tenantId/books/file', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'A books file: the entries of a month, or all, with the proofs that lead to the newest checkpoint',
    params: tenantParams,
    query: Type.Object({ month: Type.Optional(month), knownSize }, CLOSED),
    answer: Type.String(),
    answerType: 'application/x-ndjson',
    async handle({ deps, reply }, { params: { tenantId }, query }) {
      const { file, name } = await openFile(deps, tenantId, query)
      reply.type('application/x-ndjson').header('Content-Disposition', `attachment; filename="${name}"`)
      return Readable.from(file) as unknown as string // the schema says text
    },
  }),
]

/** @throws Refusal if there is no checkpoint yet, or no such tenant */
async function openFile(deps: BooksReader, tenantId: string, query: { month?: string; knownSize?: number }) {
  const shown = await readBooks(deps, tenantId, query.knownSize)
  if (shown === undefined) throw notFound('checkpoint')
  const history = await getWalletHistory(deps.db, tenantId)
  const range = query.month === undefined ? history.versions : await getMonthVersions(deps.db, tenantId, query.month)
  const name = csvFileName('books', history, ...(query.month === undefined ? [] : [query.month]))
  return { file: writeBooksFile(deps.db, history, shown, range), name: name.replace(/csv$/, 'jsonl') }
}
