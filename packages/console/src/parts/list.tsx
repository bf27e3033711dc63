import { Anchor, Box, Button, Checkbox, Group, LoadingOverlay, Paper, Table, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { interpolate, t } from '../strings/strings.ts'
import { useFilters } from './filters.tsx'
import { EmptyState, LoadError, Loading } from './load-states.tsx'

interface Column<Row> {
  accessor: string
  title: string
  render?: (row: Row) => ReactNode
  textAlign?: 'left' | 'right'
  hidden?: boolean
  cellsClassName?: string
}

interface ListProps<Row> {
  /** The table's name for screen readers. */
  label: string
  rows: Row[] | undefined
  columns: Column<Row>[]
  idOf(row: Row): string
  loading: boolean
  error?: Error | null
  retry?: () => unknown
  /** The row's page. The first cell links to it, so the keyboard and "open in a new tab" work. */
  to?: (row: Row) => string
  /** Opens the row on this page instead. */
  onRowClick?: (row: Row) => void
  empty: { title: string; text?: string; action?: ReactNode }
  /** The cursor of the next page; null on the last page. Undefined if the list is not paginated. */
  nextCursor?: string | null | undefined
  selected?: string[]
  onSelect?: (ids: string[]) => void
}

/** Every list of the console: a table that becomes cards on a phone. The current page is in the URL. */
export function List<Row>(props: ListProps<Row>) {
  const { rows, columns, loading, error, retry, empty, label } = props
  if (error && !rows) return <LoadError error={error} retry={retry} />
  if (rows === undefined) return <Loading />
  if (rows.length === 0)
    return (
      <Paper withBorder>
        <EmptyState {...empty} />
      </Paper>
    )
  const shown = columns.filter((column) => !column.hidden)
  return (
    <>
      <Paper withBorder pos="relative" className="list">
        <LoadingOverlay visible={loading} overlayProps={{ backgroundOpacity: 0 }} loaderProps={{ size: 'sm' }} />
        <Table.ScrollContainer minWidth={0} type="native">
          <Table
            aria-label={label}
            verticalSpacing="xs"
            highlightOnHover={props.to !== undefined || !!props.onRowClick}
          >
            <Head {...props} columns={shown} />
            <Table.Tbody>
              {rows.map((row) => (
                <Row key={props.idOf(row)} {...props} columns={shown} row={row} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Paper>
      {props.nextCursor !== undefined && <Pagination count={rows.length} nextCursor={props.nextCursor} />}
    </>
  )
}

function Head<Row>({ columns, rows = [], idOf, selected, onSelect }: ListProps<Row>) {
  const ids = rows.map(idOf)
  const all = ids.length > 0 && ids.every((id) => selected?.includes(id))
  return (
    <Table.Thead>
      <Table.Tr>
        {onSelect && (
          <Table.Th w={40}>
            <Checkbox
              aria-label={t.common.selectAll}
              checked={all}
              indeterminate={!all && (selected?.length ?? 0) > 0}
              onChange={() => onSelect(all ? [] : ids)}
            />
          </Table.Th>
        )}
        {columns.map((column) => (
          <Table.Th key={column.accessor} ta={column.textAlign ?? 'left'} scope="col">
            {column.title}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  )
}

function Row<Row>(props: ListProps<Row> & { row: Row }) {
  const { row, columns, idOf, selected, onSelect, to, onRowClick } = props
  const id = idOf(row)
  const isSelected = selected?.includes(id) ?? false
  return (
    <Table.Tr data-row={id} {...(isSelected && { bg: 'var(--mantine-primary-color-light)' })}>
      {onSelect && (
        <Table.Td className="list-select">
          <Checkbox
            aria-label={`${t.common.select}: ${id}`}
            checked={isSelected}
            onChange={() =>
              onSelect(isSelected ? (selected ?? []).filter((other) => other !== id) : [...(selected ?? []), id])
            }
          />
        </Table.Td>
      )}
      {columns.map((column, index) => {
        const content = column.render
          ? column.render(row)
          : String((row as Record<string, unknown>)[column.accessor] ?? '–')
        return (
          <Table.Td
            key={column.accessor}
            ta={column.textAlign ?? 'left'}
            data-label={column.title}
            {...(column.cellsClassName && { className: column.cellsClassName })}
          >
            {index === 0 ? <RowLink row={row} to={to} onRow={onRowClick} content={content} /> : content}
          </Table.Td>
        )
      })}
    </Table.Tr>
  )
}

function RowLink<Row>(props: {
  row: Row
  to: ((row: Row) => string) | undefined
  onRow: ((row: Row) => void) | undefined
  content: ReactNode
}) {
  const { row, to, onRow, content } = props
  if (to)
    return (
      <Anchor component={Link} to={to(row)} search={{} as never} size="sm" fw={550}>
        {content}
      </Anchor>
    )
  if (onRow)
    return (
      <Anchor component="button" type="button" size="sm" fw={550} ta="left" onClick={() => onRow(row)}>
        {content}
      </Anchor>
    )
  return <Box>{content}</Box>
}

function Pagination({ count, nextCursor }: { count: number; nextCursor: string | null }) {
  const [filters, setFilters] = useFilters()
  if (nextCursor === null && !filters.cursor) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {interpolate(t.common.rowsOnPage, { count })}
      </Text>
      <Group gap="xs">
        {filters.cursor && (
          <Button variant="default" size="xs" onClick={() => setFilters({ cursor: null })}>
            {t.common.firstPage}
          </Button>
        )}
        <Button
          variant="default"
          size="xs"
          disabled={nextCursor === null}
          onClick={() => setFilters({ cursor: nextCursor })}
        >
          {t.common.nextPage}
        </Button>
      </Group>
    </Group>
  )
}
