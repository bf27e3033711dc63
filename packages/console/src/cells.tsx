import type { Cells } from '@dealer-esim/gateway/http/console/cells.ts'
import { Alert, Anchor, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { figureColumn } from '#parts/list-columns.tsx'
import { useApi } from './api/use-api.ts'
import { formatCount } from './parts/format.ts'
import { Page } from './parts/page.tsx'
import { List } from './parts/record-list.tsx'
import { Amount } from './parts/values.tsx'
import { Margin } from './sales/margin.tsx'
import { formatMessage, t } from './strings/strings.ts'

type Figures = Cells['total']
type Row = { cell: string; consoleUrl: string | null; fault: string | null; figures: Figures | null; isTotal: boolean }

/** The figures of every cell, and their sums, for an operator of several cells. */
export function CellsPage() {
  const list = useApi<Cells>('/cells', {}, { refreshMs: 60_000 })
  const missing = list.data?.cells.filter(({ summary }) => summary === null).length ?? 0
  return (
    <Page title={t.cells.title} description={t.cells.text}>
      {missing > 0 && (
        <Alert color="orange" role="alert">
          {formatMessage(t.cells.incomplete, { count: missing })}
        </Alert>
      )}
      <List<Row>
        label={t.cells.title}
        rows={list.data && rowsOf(list.data)}
        query={list}
        idOf={(row) => (row.isTotal ? '' : row.cell)}
        empty={{ title: t.cells.none, text: t.cells.noneText }}
        columns={[
          // The list cannot be sorted, so that the sums stay first.
          { accessor: 'name', title: t.cells.cell, cellsClassName: 'name', render: (row) => <CellName row={row} /> },
          figureColumn('dealers', t.dealers.title, ({ figures }) => figures && formatCount(figures.dealers)),
          {
            accessor: 'attention',
            title: t.cells.attention,
            textAlign: 'right',
            render: ({ figures }) => figures && formatCount(sumOf(Object.values(figures.attention))),
          },
          {
            accessor: 'balances',
            title: t.cells.balances,
            textAlign: 'right',
            render: ({ figures }) =>
              lines(figures?.balances, (one) => <Amount value={one.balance} currency={one.currencyCode} />),
          },
          {
            accessor: 'today',
            title: t.cells.today,
            textAlign: 'right',
            render: ({ figures }) =>
              lines(figures?.today, (one) => <Amount value={one.revenue} currency={one.currencyCode} />),
          },
          {
            accessor: 'days30',
            title: t.cells.days30,
            width: 150,
            textAlign: 'right',
            render: ({ figures }) =>
              lines(figures?.days30, (one) => <Amount value={one.revenue} currency={one.currencyCode} />),
          },
          {
            accessor: 'margin',
            title: t.cells.margin,
            width: 200,
            textAlign: 'right',
            render: ({ figures }) => lines(figures?.days30, (one) => <Margin {...one} currency={one.currencyCode} />),
          },
        ]}
      />
    </Page>
  )
}

function rowsOf({ cells, total }: Cells): Row[] {
  const rows = cells.map(({ summary, ...cell }) => ({ ...cell, figures: summary, isTotal: false }))
  return [{ cell: t.cells.total, consoleUrl: null, fault: null, figures: total, isTotal: true }, ...rows]
}

function CellName({ row: { cell, consoleUrl, fault, isTotal } }: { row: Row }) {
  return (
    <>
      {consoleUrl === null ? (
        <Text span size="sm" fw={isTotal ? 650 : 500}>
          {cell}
        </Text>
      ) : (
        <Anchor href={consoleUrl} size="sm" fw={500}>
          {cell}
        </Anchor>
      )}
      {fault !== null && (
        <Text size="xs" c="red" data-from-gateway style={{ whiteSpace: 'normal' }}>
          {fault}
        </Text>
      )}
    </>
  )
}

function lines<One extends { currencyCode: string }>(list: readonly One[] | undefined, show: (one: One) => ReactNode) {
  return (
    <div>
      {list?.map((one) => (
        <div key={one.currencyCode}>{show(one)}</div>
      ))}
    </div>
  )
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
