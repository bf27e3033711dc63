import { useNavigate, useSearch } from '@tanstack/react-router'

export type Filters = Record<string, string>

/** Filters live in the address: a list can be sent to a colleague, and Back undoes a filter. */
export function useFilters(): [Filters, (change: Record<string, string | null | undefined>) => void] {
  const search = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  function set(change: Record<string, string | null | undefined>) {
    const next: Filters = { ...search }
    // Another filter starts at its first page.
    if (!('cursor' in change)) delete next.cursor
    for (const [name, value] of Object.entries(change)) {
      if (value === null || value === undefined || value === '') delete next[name]
      else next[name] = value
    }
    void navigate({ to: '.', search: next as never, replace: !('cursor' in change) })
  }
  return [search, set]
}
