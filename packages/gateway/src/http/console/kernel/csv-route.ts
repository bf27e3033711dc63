import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { csvText } from '@dealer-esim/lib/csv.ts'
import type { FastifyReply } from 'fastify'
import Type, { type TSchema } from 'typebox'
import { type Context, type Part, type Route, route } from './route.ts'

interface CsvFile<Row, P extends TSchema | undefined, Q extends TSchema | undefined> {
  /** Ends with `.csv`. */
  path: string
  access: Exclude<Route['access'], 'anyone'>
  testMode?: Route['testMode']
  summary: string
  params?: P
  /** The filters of the list, without its cursor. */
  query?: Q
  /** The name of the file, without its extension. */
  file: string
  /** Declared before `columns`, whose row type is inferred from it. */
  parts(context: Context, request: { params: Part<P>; query: Part<Q> }): AsyncIterable<readonly Row[]>
  columns: Record<string, (row: Row) => unknown>
}

/** All rows of a list as a CSV file, which is sent while it is read. */
export function csvRoute<Row, P extends TSchema | undefined = undefined, Q extends TSchema | undefined = undefined>(
  csv: CsvFile<Row, P, Q>,
): Route {
  const { path, access, testMode, summary, params, query, file, columns } = csv
  return route(`GET ${path}`, {
    ...{ access, summary },
    ...(testMode && { testMode }),
    ...(params && { params }),
    ...(query && { query }),
    answer: Type.String(),
    answerType: 'text/csv',
    handle: (async (context: Context, request: { params: Part<P>; query: Part<Q> }) => {
      const parts = csv.parts(context, request)[Symbol.asyncIterator]()
      // Reads the first part before the answer begins, so that a refusal gets its own status code.
      const lines = linesOf(columns, await parts.next(), parts, () => stream.destroyed)
      const stream = Readable.from(lines)
      return sendCsv(context.reply, `${file}.csv`, stream)
    }) as never,
  })
}

/** Answers with a file to download. A handler returns the result, and the stream is sent while it is read. */
export function sendCsv(reply: FastifyReply, name: string, csv: Readable): string {
  reply.type('text/csv; charset=utf-8').header('Content-Disposition', `attachment; filename="${name}"`)
  return csv as unknown as string // the schema says text
}

/** How many rows are written in one turn of the event loop, in less than a millisecond. */
const WRITTEN_ROWS = 25
/** Between two turns, so that two downloads without a pause leave most of the thread to dealers: some 10 000 rows a second each. */
const PAUSE_MS = 2

/**
 * The lines of a file with all rows: a truncated file would look complete. Only one part is in memory at a time. A cancelled
 * download ends after the part that is being read. `isCancelled` ends it even if the parts have no rows, for which nothing is
 * sent.
 */
async function* linesOf<Row>(
  columns: Record<string, (row: Row) => unknown>,
  first: IteratorResult<readonly Row[]>,
  parts: AsyncIterator<readonly Row[]>,
  isCancelled: () => boolean,
): AsyncGenerator<string> {
  yield `\uFEFF${csvText([Object.keys(columns)])}`
  const cells = Object.values(columns)
  for (let part = first; !part.done && !isCancelled(); part = await parts.next()) {
    for (let start = 0; start < part.value.length; start += WRITTEN_ROWS) {
      if (start > 0) await delay(PAUSE_MS)
      yield csvText(part.value.slice(start, start + WRITTEN_ROWS).map((row) => cells.map((cellOf) => cellOf(row))))
    }
  }
}

/** Returns a list that one query reads as a single part. */
export async function* inOnePart<Row>(rows: Promise<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  yield await rows
}
