import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { failed, told } from '../parts/notify.ts'
import { ApiFailure, call, isSignedOut, type Method, type Query } from './call.ts'

const STALE_MS = 10_000

/** Of GET /session, by which the console knows who is signed in. */
export const SESSION = ['/session', {}] as const

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: askWhoIsSignedIn }),
  mutationCache: new MutationCache({ onError: askWhoIsSignedIn }),
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      // What the gateway refused stays refused; only a lost connection is worth another try.
      retry: (count, error) => error instanceof ApiFailure && error.status === 0 && count < 2,
    },
  },
})

/** Whichever call is told first that the session has ended: the sign-in comes at once, not with the next refresh. */
function askWhoIsSignedIn(error: unknown): void {
  const isKnown = isSignedOut(queryClient.getQueryState(SESSION)?.error)
  if (isSignedOut(error) && !isKnown) void queryClient.refetchQueries({ queryKey: SESSION }, { cancelRefetch: false })
}

/** Reads. The page before stays visible while the next one loads. */
export function useApi<Answer>(
  path: string,
  query: Query = {},
  options: { enabled?: boolean; refresh_ms?: number | undefined } = {},
) {
  return useQuery<Answer, ApiFailure>({
    queryKey: [path, query],
    queryFn: ({ signal }) => call<Answer>('GET', path, { query, signal }),
    placeholderData: keepPreviousData,
    enabled: options.enabled ?? true,
    ...(options.refresh_ms !== undefined && { refetchInterval: options.refresh_ms }),
  })
}

export interface Change {
  method: Method
  path: string
  body?: unknown
}

/** Changes something, says so, and reads again what may have changed: everything, since one change shows in many lists. */
export function useChange<Answer = unknown>(
  options: { done?: string | ((answer: Answer) => string); quiet?: boolean } = {},
) {
  const client = useQueryClient()
  return useMutation<Answer, ApiFailure, Change>({
    mutationFn: ({ method, path, body }) => call<Answer>(method, path, { body }),
    async onSuccess(answer) {
      const { done } = options
      if (done) told(typeof done === 'string' ? done : done(answer))
      await client.invalidateQueries()
    },
    onError(error) {
      if (!options.quiet) failed(error)
    },
  })
}
