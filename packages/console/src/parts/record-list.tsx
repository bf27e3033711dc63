import {
  Anchor,
  Box,
  Checkbox,
  LoadingOverlay,
  Paper,
  Skeleton,
  Table,
  Tooltip,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core'
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Query } from '#api/call-api.ts'
import { useDensity } from '#lists/density.ts'
import type { Filter } from '#lists/filter-chips.tsx'
import ListBar from '#lists/list-bar.tsx'
import type { ListView } from '#lists/list-views.tsx'
import { useNeighbours } from '#lists/neighbours.ts'
import { Pagination, SearchedTo } from '#lists/pagination.tsx'
import SortChoice from '#lists/sort-choice.tsx'
import { type Sorting, useLocalSorting, useServerSorting } from '#lists/sorting.ts'
import type { ServerList } from '#lists/use-list.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { EmptyState, LoadError } from './load-states.tsx'
import { useFilters } from './use-filters.ts'
import { ColumnCurrency } from './values.tsx'

/*
 * Our own table instead of a library: TanStack Table and Mantine DataTable sort, page and choose columns of rows that are
 * all in the browser. Here the gateway does that, so a library would save little and make the first load larger.
 */

export interface Column<Row> {
  /** Also the name by which the gateway sorts it. */
  accessor: string
  title: string
  render?: (row: Row) => ReactNode
  textAlign?: 'left' | 'right'
  hidden?: boolean
  /** Hidden by default. */
  optional?: boolean
  cellsClassName?: string
  /** Its share of the width, roughly its pixels in a window 1280 wide. The default depends on its content. */
  width?: number
  /** Its text may take several lines. Other cells have one line, which is truncated. */
  wraps?: boolean
  /** The currency of its amounts, shown in the header if all rows share it. */
  currency?: (row: Row) => string
  /** Its position in the condensed row on a phone. A list that sets this for a column shows only such columns there. */
  phone?: 'main' | 'value' | 'status' | 'note'
  /** Its title is shown before it on a phone, because the value alone is unclear. */
  isNamed?: boolean
}

/** Shown where there is no value. */
const NONE = '–'

/** Leave out `isFetching` if the list should show no spinner while it is read again. */
export interface ListQuery {
  isFetching?: boolean
  error: Error | null
  refetch?(): unknown
}

interface ListProps<Row> {
  /** The table's name for screen readers. */
  label: string
  /** A list that the gateway paginates, counts and exports. It supplies the rows. */
  list?: ServerList<Row>
  /** Keeps the list's saved views, sorting and columns. Only one list on a page has a name. */
  name?: string
  /** The route that returns all rows as CSV, and the filters. */
  csv?: { path: string; query?: Query }
  rows?: Row[] | undefined
  columns: Column<Row>[]
  idOf(row: Row): string
  /** The query that returns `rows`. */
  query?: ListQuery
  loading?: boolean
  /** The row's page. The first cell links to it, so the keyboard and "open in a new tab" work. */
  to?: (row: Row) => string
  /** Opens the row on this page instead. */
  onRowClick?: (row: Row) => void
  empty: { title: string; text?: string; action?: ReactNode }
  selected?: string[]
  onSelect?: (ids: string[]) => void
  /** Shown instead of the search and filters while rows are selected. */
  bulk?: ReactNode
  search?: ReactNode
  filters?: readonly Filter[]
  /** Its rows are tasks, as in a recovery: their actions are always visible, not only under the pointer. */
  isOfTasks?: boolean
  /** The views that everybody has, besides the view of all rows. */
  views?: readonly ListView[]
}

/** Every list of the console: a table with one-line rows, which are condensed on a phone. The current page is in the URL. */
export function List<Row>(props: ListProps<Row>) {
  const { list, query, columns, empty, search, filters: choices = [], views = [] } = props
  const { rows } = list ?? props
  const error = (list ?? query)?.error
  const local = useLocalSorting(list ? undefined : rows, props.name !== undefined)
  const sorting = useServerSorting(list) ?? local.sorting
  const [filters] = useFilters()
  const [density] = useDensity()
  const ordered = local.sorted ?? rows
  useNeighbours(props.name && props.to && ordered?.map(props.to))
  if (error && !rows) return <LoadError error={error} retry={list?.retry ?? query?.refetch} />
  const chosen = props.name === undefined ? undefined : filters.columns?.split(',')
  const shown = columns.filter(
    (column, index) =>
      !column.hidden && (chosen ? index === 0 || chosen.includes(column.accessor) : column.optional !== true),
  )
  // An empty list without filters needs none.
  const isShort = props.name !== undefined || props.csv !== undefined || search !== undefined
  const hasBar = list !== undefined || (isShort && (rows?.length !== 0 || Object.keys(filters).length > 0))
  return (
    <Paper
      withBorder
      className="list"
      data-density={density}
      data-tasks={props.isOfTasks || undefined}
      data-condensed={columns.some((column) => column.phone) || undefined}
    >
      {hasBar && (
        <ListBar
          search={search}
          filters={choices}
          views={views}
          totals={list ? list.totals : rows && { count: rows.length, isComplete: true }}
          name={props.name}
          csv={list ? { path: list.path, query: list.fileQuery } : props.csv}
          columns={columns}
          shown={shown}
          bulk={props.bulk}
        />
      )}
      {rows?.length === 0 ? (
        <Nothing list={list} empty={empty} />
      ) : (
        <>
          <SortChoice sorting={sorting} columns={columns.filter((column) => !column.hidden)} />
          <Rows {...props} rows={ordered} columns={shown} sorting={sorting} />
        </>
      )}
      {list?.nextCursor !== undefined && !(list.searchedTo && rows?.length === 0) && (
        <Pagination count={rows?.length ?? 0} nextCursor={list.nextCursor} list={list} />
      )}
    </Paper>
  )
}

function Nothing<Row>({ list, empty }: { list: ServerList<Row> | undefined; empty: ListProps<Row>['empty'] }) {
  if (list?.searchedTo) return <SearchedTo time={list.searchedTo} nextCursor={list.nextCursor ?? null} />
  return <EmptyState {...empty} />
}

function Rows<Row>(props: ListProps<Row> & { sorting: Sorting }) {
  const { rows, columns, sorting, list } = props
  const isLoading = (list?.loading ?? props.query?.isFetching ?? props.loading ?? false) && rows !== undefined
  const widths = columns.map(widthOf)
  const whole = widths.reduce((sum, width) => sum + width, 0)
  const currencies = columns.map((column) => commonCurrency(column, rows))
  return (
    <Box pos="relative" className="list-rows">
      <LoadingOverlay visible={isLoading} overlayProps={{ backgroundOpacity: 0 }} loaderProps={{ size: 'sm' }} />
      <Table
        aria-label={props.label}
        layout="fixed"
        highlightOnHover={props.to !== undefined || !!props.onRowClick}
        withRowBorders
      >
        <colgroup>
          {props.onSelect && <col className="list-select" />}
          {columns.map(({ accessor }, index) => (
            <col key={accessor} style={{ width: `${((widths[index] ?? 0) / whole) * 100}%` }} />
          ))}
        </colgroup>
        <Head {...props} rows={rows} columns={columns} sorting={sorting} currencies={currencies} />
        <Table.Tbody>
          {rows === undefined ? (
            <SkeletonRows columns={columns.length + (props.onSelect ? 1 : 0)} />
          ) : (
            rows.map((row) => (
              <Row key={props.idOf(row)} {...props} columns={columns} row={row} currencies={currencies} />
            ))
          )}
        </Table.Tbody>
      </Table>
    </Box>
  )
}

const WIDTHS = { name: 180, code: 160, status: 160, number: 105, money: 125, time: 170, actions: 170, text: 140 }

/** The width by a column's content, so that a list rarely has to set it. */
function widthOf<Row>(column: Column<Row>, index: number): number {
  const { accessor, width, textAlign, cellsClassName } = column
  if (width !== undefined) return width
  if (accessor === 'actions') return WIDTHS.actions
  if (cellsClassName?.includes('mono')) return WIDTHS.code
  if (column.currency) return WIDTHS.money
  if (textAlign === 'right') return WIDTHS.number
  if (/(At|Time|time)$/.test(accessor)) return WIDTHS.time
  if (/status|state/i.test(accessor)) return WIDTHS.status
  return index === 0 ? WIDTHS.name : WIDTHS.text
}

/** The one currency of a column's amounts, for its header. */
function commonCurrency<Row>({ currency }: Column<Row>, rows: Row[] | undefined): string | undefined {
  if (!currency || !rows) return undefined
  const all = new Set(rows.map(currency))
  return all.size === 1 ? [...all][0] : undefined
}

const SKELETON_ROWS = 8

function SkeletonRows({ columns }: { columns: number }) {
  return Array.from({ length: SKELETON_ROWS }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike
    <Table.Tr key={row} className="skeleton" {...(row === 0 && { role: 'status', 'aria-label': t.common.loading })}>
      <Table.Td colSpan={columns}>
        <Skeleton height={14} my={4} width={`${95 - ((row * 17) % 40)}%`} />
      </Table.Td>
    </Table.Tr>
  ))
}

function Head<Row>(props: ListProps<Row> & { sorting: Sorting; currencies: (string | undefined)[] }) {
  const { columns, rows = [], idOf, selected, onSelect } = props
  const ids = rows.map(idOf)
  const all = ids.length > 0 && ids.every((id) => selected?.includes(id))
  return (
    <Table.Thead>
      <Table.Tr>
        {onSelect && (
          <Table.Th className="list-select">
            <Checkbox
              aria-label={t.common.selectAll}
              checked={all}
              indeterminate={!all && (selected?.length ?? 0) > 0}
              onChange={() => onSelect(all ? [] : ids)}
            />
          </Table.Th>
        )}
        {columns.map((column, index) => (
          <HeadCell key={column.accessor} column={column} sorting={props.sorting} currency={props.currencies[index]} />
        ))}
      </Table.Tr>
    </Table.Thead>
  )
}

/** A header that sorts, or says why it cannot. A second click reverses the order. */
function HeadCell<Row>(props: { column: Column<Row>; sorting: Sorting; currency: string | undefined }) {
  const { column, sorting, currency } = props
  const { accessor, textAlign = 'left' } = column
  const title = currency === undefined ? column.title : `${column.title}, ${currency}`
  const possible = sorting.by(accessor)
  if (possible === 'NEVER')
    return (
      <Table.Th ta={textAlign} scope="col">
        {accessor === 'actions' ? <VisuallyHidden>{title}</VisuallyHidden> : title}
      </Table.Th>
    )
  const isPossible = possible === 'POSSIBLE'
  const { current } = sorting
  const direction = current === accessor ? 'ascending' : current === `-${accessor}` ? 'descending' : undefined
  const next = direction === 'ascending' ? `-${accessor}` : accessor
  const Icon = direction === 'ascending' ? IconArrowUp : direction === 'descending' ? IconArrowDown : IconArrowsSort
  return (
    <Table.Th ta={textAlign} scope="col" {...(direction && { 'aria-sort': direction })}>
      <Tooltip
        label={isPossible ? formatMessage(t.lists.sortBy, { column: column.title }) : t.lists.tooManyToSort}
        multiline
        maw={260}
      >
        <UnstyledButton
          className="list-sort"
          data-sorted={direction}
          aria-disabled={!isPossible || undefined}
          onClick={() => isPossible && sorting.set(next)}
        >
          {title}
          <Icon size={14} aria-hidden="true" />
        </UnstyledButton>
      </Tooltip>
    </Table.Th>
  )
}

function Row<Row>(props: ListProps<Row> & { row: Row; currencies: (string | undefined)[] }) {
  const { row, columns, idOf, selected, onSelect, to, onRowClick } = props
  const id = idOf(row)
  const isSelected = selected?.includes(id) ?? false
  return (
    <Table.Tr data-row={id} data-selected={isSelected || undefined}>
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
          : String((row as Record<string, unknown>)[column.accessor] ?? NONE)
        return (
          <Table.Td
            key={column.accessor}
            ta={column.textAlign ?? 'left'}
            data-label={column.title}
            data-phone={column.phone}
            data-named={column.isNamed || content === NONE || undefined}
            data-none={content === NONE || undefined}
            data-wraps={column.wraps}
            data-actions={column.accessor === 'actions' || undefined}
            {...(typeof content === 'string' && !column.wraps && { title: content })}
            {...(column.cellsClassName && { className: column.cellsClassName })}
          >
            <ColumnCurrency value={props.currencies[index]}>
              {index === 0 ? <RowLink row={row} to={to} onRow={onRowClick} content={content} /> : content}
            </ColumnCurrency>
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
      <Anchor component={Link} to={to(row)} search={{} as never} size="sm" fw={600} c="var(--ink)">
        {content}
      </Anchor>
    )
  if (onRow)
    return (
      <Anchor component="button" type="button" size="sm" fw={600} c="var(--ink)" ta="left" onClick={() => onRow(row)}>
        {content}
      </Anchor>
    )
  return <>{content}</>
}
