import { readFile } from 'node:fs/promises'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { type Cell, parseCells } from './cells-file.ts'

const count = () => Type.Integer({ minimum: 0 })
const money = () => Type.Integer({ description: '1/10 000 units' })
const currencyCode = () => Type.String({ pattern: '^[A-Z]{3}$' })

const sales = Type.Object({
  currencyCode: currencyCode(),
  items: count(),
  revenue: money(),
  margin: Type.Union([money(), Type.Null()], { description: 'Of the items whose cost is known; null: of none' }),
  unknownItems: count(),
})

/** The figures of one cell. Each can be added to those of other cells. */
export const cellSummary = Type.Object({
  cell: Type.String(),
  version: Type.String(),
  dealers: count(),
  /** What needs attention, by kind. */
  attention: Type.Record(Type.String(), count()),
  balances: Type.Array(Type.Object({ currencyCode: currencyCode(), tenants: count(), balance: money() })),
  today: Type.Array(sales, { description: 'The UTC day' }),
  days30: Type.Array(sales, { description: 'The last 30 UTC days, with today' }),
})
export type CellSummary = Static<typeof cellSummary>
export type CellSales = Static<typeof sales>

export interface ReadCell {
  cell: string
  consoleUrl: string | undefined
  /** undefined if the summary could not be read. */
  summary: CellSummary | undefined
  /** Why the summary could not be read, and the remedy. */
  fault: string | undefined
}

const isSummary = Compile(cellSummary)
/** The number of cells read simultaneously. */
const READERS_MAX = 20
const TIMEOUT_MS = 5_000
const ANSWER_SIZE_MAX_BYTES = 2 ** 20

/**
 * Reads the summary of every cell in the file, using `readOwn` for this cell. For a cell that does not answer, a fault is
 * returned.
 * @throws Refusal if the file cannot be used
 */
export async function readSummaries(
  outbound: Outbound,
  file: string,
  own: string,
  readOwn: () => Promise<CellSummary>,
): Promise<ReadCell[]> {
  const { cells } = parseCells(await readFile(file, 'utf8'))
  const read: ReadCell[] = []
  for (let start = 0; start < cells.length; start += READERS_MAX) {
    const group = cells.slice(start, start + READERS_MAX)
    read.push(
      ...(await Promise.all(group.map((one) => readCell(outbound, one, one.name === own ? readOwn : undefined)))),
    )
  }
  return read
}

async function readCell(
  outbound: Outbound,
  cell: Cell,
  readOwn: (() => Promise<CellSummary>) | undefined,
): Promise<ReadCell> {
  const read = readOwn ? await readOwn() : await readRemote(outbound, cell)
  const isRead = typeof read !== 'string'
  return {
    cell: cell.name,
    consoleUrl: cell.consoleUrl,
    summary: isRead ? read : undefined,
    fault: isRead ? undefined : read,
  }
}

/** @returns the summary, or the reason why it could not be read */
async function readRemote(outbound: Outbound, { name, consoleUrl, tokenFile }: Cell): Promise<CellSummary | string> {
  if (consoleUrl === undefined || tokenFile === undefined)
    return 'Give the cell a consoleUrl and a tokenFile in the cells file.'
  let token: string
  try {
    token = (await readFile(tokenFile, 'utf8')).trim()
  } catch (error) {
    return `Its token cannot be read: ${(error as Error).message}.`
  }
  const outcome = await outbound.request({
    url: `${consoleUrl}/api/cell`,
    method: 'GET',
    headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
    answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
    allowPrivate: true,
  })
  if (outcome.kind === 'failed') return `Its console does not answer: ${outcome.message}.`
  if (outcome.status === 401)
    return 'Its console refuses the token, which has expired or was deleted. Create a new one there.'
  if (outcome.status === 403)
    return 'The token belongs to a person who may not read this. Use the token of an operator who may.'
  if (outcome.status !== 200) return `Its console answers with status ${outcome.status}.`
  const summary = parseSummary(outcome.body.toString())
  if (summary === undefined) return 'Its answer is not a summary of this release. Run the same release in all cells.'
  if (summary.cell !== name) return `Its CELL_NAME is ${summary.cell}. Correct its consoleUrl.`
  return summary
}

function parseSummary(text: string): CellSummary | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return isSummary.Check(answer) ? answer : undefined
  } catch {
    return undefined
  }
}
