import { useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { isPrivate } from '#api/call-api.ts'

export type Filters = Record<string, string>
/**
 * `replace`: Back skips the previous state. By default only pages are separate steps.
 * `isHidden`: the changed filters stay out of the URL.
 */
type SetFilters = (
  change: Record<string, string | null | undefined>,
  options?: { replace?: boolean; isHidden?: boolean },
) => void

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Filters that must not be in the URL. */
    filters?: Filters
  }
}

/**
 * Keeps filters in the URL, so that a filtered list can be shared and Back returns to its previous page. An e-mail address stays out of
 * the URL, which browsers and proxies keep, and so does a text that may become one: only this entry of the history has it.
 */
export function useFilters(): [Filters, SetFilters] {
  const search = useSearch({ strict: false }) as Filters
  const hidden = useLocation({ select: ({ state }) => state.filters })
  const navigate = useNavigate()
  const filters = hidden ? { ...search, ...hidden } : search
  const set: SetFilters = (change, { replace = !('cursor' in change), isHidden = false } = {}) => {
    const next: Filters = { ...filters }
    // A changed filter starts at the first page.
    if (!('cursor' in change)) delete next.cursor
    for (const [name, value] of Object.entries(change)) {
      if (value === null || value === undefined || value === '') delete next[name]
      else next[name] = value
    }
    const isSecret = (name: string, value: string) =>
      isPrivate(value) || (name in change ? isHidden : hidden !== undefined && name in hidden)
    const [shown, secret] = [false, true].map((isWanted) =>
      Object.fromEntries(Object.entries(next).filter(([name, value]) => isSecret(name, value) === isWanted)),
    )
    const state = Object.keys(secret!).length > 0 ? { filters: secret! } : {}
    void navigate({ to: '.', search: shown as never, state, replace })
  }
  return [filters, set]
}
