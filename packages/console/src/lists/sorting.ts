import { useState } from 'react'
import { useFilters } from '#parts/use-filters.ts'
import type { ServerList } from './use-list.ts'

/** How a list is sorted, by the gateway or in the browser. */
export interface Sorting {
  /** A column, descending with a leading minus; undefined: the list's default order. */
  current: string | undefined
  /** TOO_MANY: possible only once fewer rows match. */
  by(accessor: string): 'POSSIBLE' | 'TOO_MANY' | 'NEVER'
  set(sort: string | undefined): void
}

/** The gateway sorts; the order is in the URL. */
export function useServerSorting<Row>(list: ServerList<Row> | undefined): Sorting | undefined {
  const [, setFilters] = useFilters()
  if (list === undefined) return undefined
  const { totals } = list
  return {
    current: list.sort,
    by: (accessor) =>
      !totals?.sorts?.includes(accessor) ? 'NEVER' : totals.sortable?.includes(accessor) ? 'POSSIBLE' : 'TOO_MANY',
    set: (sort) => setFilters({ sort: sort ?? null }),
  }
}

/**
 * Sorts a list whose rows are all in the browser, by columns whose values are texts or numbers.
 * @param inUrl keeps the order in the URL, so that a saved view includes it. Only one list on a page can do so
 */
export function useLocalSorting<Row>(
  rows: Row[] | undefined,
  inUrl: boolean,
): { sorting: Sorting; sorted: Row[] | undefined } {
  const [{ sort }, setFilters] = useFilters()
  const [chosen, choose] = useState<string>()
  const current = inUrl ? sort : chosen
  const set = (next: string | undefined) => (inUrl ? setFilters({ sort: next ?? null }) : choose(next))
  const valueIn = (row: Row, accessor: string) => (row as Record<string, unknown>)[accessor]
  const by = (accessor: string) =>
    rows !== undefined &&
    rows.length > 1 &&
    rows.every((row) => ['string', 'number'].includes(typeof valueIn(row, accessor)))
      ? 'POSSIBLE'
      : 'NEVER'
  const accessor = current?.replace(/^-/, '') ?? ''
  const sorted =
    rows && current && by(accessor) === 'POSSIBLE'
      ? rows.toSorted((a, b) => {
          const [left, right] = [valueIn(a, accessor), valueIn(b, accessor)]
          const order =
            typeof left === 'number' && typeof right === 'number'
              ? left - right
              : String(left).localeCompare(String(right))
          return current.startsWith('-') ? -order : order
        })
      : rows
  return { sorted, sorting: { current, by, set } }
}
