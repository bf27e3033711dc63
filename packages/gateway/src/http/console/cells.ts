import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { type CellSummary, cellSummary, type ReadCell, readSummaries } from '#cells/cells-summary.ts'
import packageJson from '#package.json' with { type: 'json' }
import { sentence } from '#people/languages/translate-answer.ts'
import { listSales, type SalesRow } from '#sales/list-sales.ts'
import { countAttention, listBalances } from './home/dashboard-figures.ts'
import { type Context, OPERATORS, type Route, route } from './kernel/route.ts'
import { nullable } from './kernel/route-schemas.ts'
import { daysAfter, viewOf } from './sales-view.ts'

const readCell = Type.Object({
  cell: Type.String(),
  consoleUrl: nullable(Type.String()),
  summary: nullable(cellSummary),
  fault: nullable(sentence('Why it could not be read, and what to do')),
})

const answer = Type.Object({
  cells: Type.Array(readCell),
  total: Type.Omit(cellSummary, ['cell', 'version'], { description: 'Of the cells that could be read' }),
})
export type Cells = Static<typeof answer>

const PERIOD_DAYS = 30

export const cellRoutes: Route[] = [
  route('GET /cell', {
    access: OPERATORS,
    summary: 'Figures of this cell: dealers, what needs attention, balances, sales',
    answer: cellSummary,
    handle: summarise,
  }),
  route('GET /cells', {
    access: OPERATORS,
    summary: 'Figures of every cell in CELLS_FILE, and their sums',
    answer,
    async handle(context) {
      const { cellsFile, cellName } = context.deps.config
      if (cellsFile === undefined)
        throw new Refusal(
          404,
          'NO_CELLS',
          'This gateway has no list of other cells. Set CELLS_FILE to the file that lists them.',
        )
      const read = await readSummaries(context.deps.outbound, cellsFile, cellName, () => summarise(context))
      return { cells: read.map(viewOfCell), total: addUp(read.flatMap(({ summary }) => summary ?? [])) }
    },
  }),
]

function viewOfCell({ cell, consoleUrl, summary, fault }: ReadCell) {
  return { cell, consoleUrl: consoleUrl ?? null, summary: summary ?? null, fault: fault ?? null }
}

async function summarise({ deps }: Context): Promise<CellSummary> {
  const to = new Date(deps.databaseClock.now()).toISOString().slice(0, 10)
  const from = daysAfter(to, 1 - PERIOD_DAYS)
  const [row] = await deps.db.query<{ dealers: number }>({ text: 'select count(*)::int as dealers from tenants' })
  const balances = await listBalances(deps.db, null)
  return {
    ...{ cell: deps.config.cellName, version: packageJson.version, dealers: row!.dealers },
    attention: { ...(await countAttention(deps.db, null)) },
    balances: balances.map(({ balance, ...rest }) => ({ ...rest, balance: Number(balance) })),
    today: (await listSales(deps.db, 'all', { from: to, to })).map(salesOf),
    days30: (await listSales(deps.db, 'all', { from, to })).map(salesOf),
  }
}

function salesOf({ currencyCode, ...sums }: SalesRow) {
  const { items, revenue, margin, unknownItems } = viewOf(sums)
  return {
    currencyCode,
    items,
    revenue: Number(revenue),
    margin: margin === null ? null : Number(margin),
    unknownItems,
  }
}

function addUp(summaries: readonly CellSummary[]): Cells['total'] {
  const attention: Record<string, number> = {}
  for (const [kind, number] of summaries.flatMap((one) => Object.entries(one.attention)))
    attention[kind] = (attention[kind] ?? 0) + number
  return {
    dealers: summaries.reduce((sum, { dealers }) => sum + dealers, 0),
    attention,
    balances: byCurrency(summaries.flatMap(({ balances }) => balances)),
    today: byCurrency(summaries.flatMap(({ today }) => today)),
    days30: byCurrency(summaries.flatMap(({ days30 }) => days30)),
  }
}

type Figures = { currencyCode: string } & { [name: string]: number | string | null }

/**
 * Amounts of different currencies are never added. The sum of a member is unknown only if the member is unknown in every
 * row.
 */
function byCurrency<Row extends Figures>(rows: readonly Row[]): Row[] {
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const sum = sums.get(row.currencyCode)
    sums.set(row.currencyCode, sum === undefined ? row : addRow(sum, row))
  }
  return [...sums.values()].sort((a, b) => (a.currencyCode < b.currencyCode ? -1 : 1))
}

function addRow<Row extends Figures>(left: Row, right: Row): Row {
  const added = Object.entries(left).map(([name, value]) => {
    const other = right[name]
    if (typeof value !== 'number') return [name, value ?? other]
    return [name, typeof other === 'number' ? value + other : value]
  })
  return Object.fromEntries(added)
}
