import type { ListTotals } from '@dealer-esim/gateway/http/console/kernel/list-routes.ts'
import type { Query } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { useFilters } from '#parts/use-filters.ts'

/** URL parameters that say how a list is shown, not which rows it has. */
const DISPLAY = ['sort', 'limit', 'columns', 'cursor', 'new']

/** True if a filter hides rows, for the text of an empty list. */
export function isFiltered(filters: Record<string, string>): boolean {
  return Object.keys(filters).some((name) => !DISPLAY.includes(name))
}

/** A list that the gateway filters, counts, exports and, where it can, sorts. Everything that a person chose is in the URL. */
export interface ServerList<Row> {
  path: string
  sort: string | undefined
  /** The filters and the order for its CSV file. */
  fileQuery: Query
  /** The whole answer, for its members other than the rows. */
  answer: Record<string, unknown> | undefined
  rows: Row[] | undefined
  nextCursor: string | null | undefined
  /** Rows beyond this time have not been searched yet. */
  searchedTo: string | null
  totals: ListTotals | undefined
  loading: boolean
  error: Error | null
  retry(): unknown
}

/**
 * @param options.enabled false: nothing is loaded
 * @param options.isFirstPageOnly shows one page only, because the cursor in the URL belongs to another list
 * @param options.isFileOrderFixed its file has its own order
 */
export function useList<Row>(
  path: string,
  name: string,
  filters: Query,
  options: { enabled?: boolean; refreshMs?: number; isFirstPageOnly?: boolean; isFileOrderFixed?: boolean } = {},
): ServerList<Row> {
  const [shown, setFilters] = useFilters()
  const { enabled = true, refreshMs, isFirstPageOnly = false } = options
  const { sort, limit, cursor }: Record<string, string> = isFirstPageOnly ? {} : shown
  const list = useApi<Record<string, unknown>>(path, { ...filters, sort, limit, cursor }, { enabled, refreshMs })
  const totals = useApi<ListTotals>(`${path}/totals`, filters, { enabled, refreshMs })
  // More rows match than when this order was selected: the default order is always possible.
  const isOrderRefused = list.error?.code === 'TOO_MANY_TO_SORT'
  const retry = () => (isOrderRefused ? setFilters({ sort: null }) : list.refetch())
  return {
    ...{ path, sort, retry },
    fileQuery: options.isFileOrderFixed ? filters : { ...filters, sort },
    // The order in the URL also belongs to the other list.
    totals: isFirstPageOnly && totals.data ? { ...totals.data, sorts: [] } : totals.data,
    answer: list.data,
    rows: list.data?.[name] as Row[] | undefined,
    nextCursor: isFirstPageOnly ? undefined : (list.data?.nextCursor as string | null | undefined),
    searchedTo: (list.data?.searchedTo as string | null | undefined) ?? null,
    loading: list.isFetching,
    // A lost connection is tried again, but the first failure is already worth reporting.
    error: list.error ?? list.failureReason,
  }
}
