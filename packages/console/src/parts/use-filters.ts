import { useNavigate, useSearch } from '@tanstack/react-router'

export type Filters = Record<string, string>
/** `replace`: Back skips the previous state. By default only pages are separate steps. */
type SetFilters = (change: Record<string, string | null | undefined>, options?: { replace?: boolean }) => void

/** Keeps filters in the URL, so that a filtered list can be shared and Back returns to its previous page. */
export function useFilters(): [Filters, SetFilters] {
  const search = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  const set: SetFilters = (change, { replace = !('cursor' in change) } = {}) => {
    const next: Filters = { ...search }
    // A changed filter starts at the first page.
    if (!('cursor' in change)) delete next.cursor
    for (const [name, value] of Object.entries(change)) {
      if (value === null || value === undefined || value === '') delete next[name]
      else next[name] = value
    }
    void navigate({ to: '.', search: next as never, replace })
  }
  return [search, set]
}
