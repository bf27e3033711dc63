import { Anchor, Box, Checkbox, LoadingOverlay, Paper, Skeleton, Table, Tooltip, UnstyledButton } from '@mantine/core'
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Query } from '#api/call-api.ts'
import ListTools from '#lists/list-tools.tsx'
import { Pagination, SearchedTo } from '#lists/pagination.tsx'
import SortChoice from '#lists/sort-choice.tsx'
import { type Sorting, useLocalSorting, useServerSorting } from '#lists/sorting.ts'
import type { ServerList } from '#lists/use-list.ts'
import { interpolate, t } from '#strings/strings.ts'
import { EmptyState, LoadError } from './load-states.tsx'
import { useFilters } from './use-filters.ts'

/*
 * Our own table instead of a library: TanStack Table and Mantine DataTable sort, page and choose columns of rows that are
 * all in the browser. Here the gateway does that, and what remains is this file; a library would only add to the first load.
 */

export interface Column<Row> {
  /** Also the name by which the gateway sorts it. */
  accessor: string
  title: string
  render?: (row: Row) => ReactNode
  textAlign?: 'left' | 'right'
  hidden?: boolean
  /** Shown only if it is chosen. */
  optional?: boolean
  cellsClassName?: string
  /** Where it stands in the condensed row on a phone. A list that says this for a column shows only such columns there. */
  phone?: 'main' | 'value' | 'status' | 'note'
  /** Its title stands before it on a phone, because the value alone does not say what it is. */
  isNamed?: boolean
}

/** Shown where there is no value. */
const NONE = '–'

interface ListProps<Row> {
  /** The table's name for screen readers. */
  label: string
  /** A list that the gateway paginates, counts and exports. It supplies the rows. */
  list?: ServerList<Row>
  /** Keeps the list's saved views, sorting and columns. Only one list of a page has a name. */
  name?: string
  /** Where the gateway answers all rows of another list as CSV, and the filters. */
  csv?: { path: string; query?: Query }
  rows?: Row[] | undefined
  columns: Column<Row>[]
  idOf(row: Row): string
  loading?: boolean
  error?: Error | null
  retry?: () => unknown
  /** The row's page. The first cell links to it, so the keyboard and "open in a new tab" work. */
  to?: (row: Row) => string
  /** Opens the row on this page instead. */
  onRowClick?: (row: Row) => void
  empty: { title: string; text?: string; action?: ReactNode }
  selected?: string[]
  onSelect?: (ids: string[]) => void
  /** Shown instead of the list's tools while rows are selected. */
  bulk?: ReactNode
}

/** Every list of the console: a table whose rows are condensed on a phone. The current page is in the URL. */
export function List<Row>(props: ListProps<Row>) {
  const { list, columns, empty, bulk } = props
  const { rows, loading = false, error, retry } = list ?? props
  const local = useLocalSorting(list ? undefined : rows, props.name !== undefined)
  const sorting = useServerSorting(list) ?? local.sorting
  const [filters] = useFilters()
  if (error && !rows) return <LoadError error={error} retry={retry} />
  const chosen = props.name === undefined ? undefined : filters.columns?.split(',')
  const shown = columns.filter(
    (column, index) =>
      !column.hidden && (chosen ? index === 0 || chosen.includes(column.accessor) : column.optional !== true),
  )
  const ordered = local.sorted ?? rows
  // An empty list without filters needs none.
  const isShort = props.name !== undefined || props.csv !== undefined
  const hasTools = list !== undefined || (isShort && (rows?.length !== 0 || Object.keys(filters).length > 0))
  return (
    <>
      {hasTools &&
        (bulk ?? (
          <ListTools
            totals={list ? list.totals : rows && { count: rows.length, isComplete: true }}
            name={props.name}
            csv={list ? { path: list.path, query: list.fileQuery } : props.csv}
            columns={columns}
            shown={shown}
            hasTimes={shown.some(({ accessor }) => ordered?.some((row) => isTime(row, accessor)))}
          />
        ))}
      {rows?.length !== 0 && <SortChoice sorting={sorting} columns={columns.filter((column) => !column.hidden)} />}
      {rows?.length === 0 ? (
        <Paper withBorder>
          {list?.searchedTo ? (
            <SearchedTo time={list.searchedTo} nextCursor={list.nextCursor ?? null} />
          ) : (
            <EmptyState {...empty} />
          )}
        </Paper>
      ) : (
        <Paper
          withBorder
          pos="relative"
          className="list"
          data-condensed={columns.some((column) => column.phone) || undefined}
        >
          <LoadingOverlay
            visible={loading && rows !== undefined}
            overlayProps={{ backgroundOpacity: 0 }}
            loaderProps={{ size: 'sm' }}
          />
          <Table.ScrollContainer minWidth={0} type="native">
            <Table
              aria-label={props.label}
              verticalSpacing="xs"
              highlightOnHover={props.to !== undefined || !!props.onRowClick}
            >
              <Head {...props} rows={ordered} columns={shown} sorting={sorting} />
              <Table.Tbody>
                {ordered === undefined ? (
                  <SkeletonRows columns={shown.length + (props.onSelect ? 1 : 0)} />
                ) : (
                  ordered.map((row) => <Row key={props.idOf(row)} {...props} columns={shown} row={row} />)
                )}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
      {list?.nextCursor !== undefined && !(list.searchedTo && rows?.length === 0) && (
        <Pagination count={rows?.length ?? 0} nextCursor={list.nextCursor} list={list} />
      )}
    </>
  )
}

function isTime(row: unknown, accessor: string): boolean {
  return /^\d{4}-\d\d-\d\dT.*Z$/.test(String((row as Record<string, unknown>)[accessor]))
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

function Head<Row>(props: ListProps<Row> & { sorting: Sorting }) {
  const { columns, rows = [], idOf, selected, onSelect } = props
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
          <HeadCell key={column.accessor} column={column} sorting={props.sorting} />
        ))}
      </Table.Tr>
    </Table.Thead>
  )
}

/** A header that sorts, or says why it cannot. A second click turns the order round. */
function HeadCell<Row>({ column, sorting }: { column: Column<Row>; sorting: Sorting }) {
  const { accessor, title, textAlign = 'left' } = column
  const possible = sorting.by(accessor)
  if (possible === 'NEVER')
    return (
      <Table.Th ta={textAlign} scope="col">
        {title}
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
        label={isPossible ? interpolate(t.lists.sortBy, { column: title }) : t.lists.tooManyToSort}
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
          : String((row as Record<string, unknown>)[column.accessor] ?? NONE)
        return (
          <Table.Td
            key={column.accessor}
            ta={column.textAlign ?? 'left'}
            data-label={column.title}
            data-phone={column.phone}
            data-named={column.isNamed || content === NONE || undefined}
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
