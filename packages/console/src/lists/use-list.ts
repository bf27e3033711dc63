import type { ListTotals } from '@dealer-esim/gateway/console-api/kernel/list.ts'
import type { Query } from '../api/call.ts'
import { useApi } from '../api/use-api.ts'
import { useFilters } from '../parts/use-filters.ts'

/** URL parameters that say how a list is shown, not which rows it has. */
const DISPLAY = ['sort', 'limit', 'columns', 'cursor', 'new']

/** True if a filter hides rows, for the text of an empty list. */
export function isFiltered(filters: Record<string, string>): boolean {
  return Object.keys(filters).some((name) => !DISPLAY.includes(name))
}

/** A list that the gateway filters, sorts, counts and exports. Everything that a person chose is in the URL. */
export interface ServerList<Row> {
  path: string
  query: Query
  sort: string | undefined
  rows: Row[] | undefined
  nextCursor: string | null | undefined
  /** Rows beyond this time were not searched yet. */
  searchedTo: string | null
  totals: ListTotals | undefined
  loading: boolean
  error: Error | null
  retry(): unknown
}

export function useList<Row>(
  path: string,
  name: string,
  filters: Query,
  options: { refreshMs?: number } = {},
): ServerList<Row> {
  const [{ sort, limit, cursor }, setFilters] = useFilters()
  const list = useApi<Record<string, unknown>>(path, { ...filters, sort, limit, cursor }, options)
  const totals = useApi<ListTotals>(`${path}/totals`, filters)
  // More rows match than when this order was chosen: the usual order is always possible.
  const isOrderRefused = list.error?.code === 'TOO_MANY_TO_SORT'
  const retry = () => (isOrderRefused ? setFilters({ sort: null }) : list.refetch())
  return {
    ...{ path, query: filters, sort, totals: totals.data, retry },
    rows: list.data?.[name] as Row[] | undefined,
    nextCursor: list.data?.nextCursor as string | null | undefined,
    searchedTo: (list.data?.searchedTo as string | null | undefined) ?? null,
    loading: list.isFetching,
    // A lost connection is tried again, but the first failure is already worth saying.
    error: list.error ?? list.failureReason,
  }
}
