import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { notifyError, notifySuccess } from '../parts/notify.ts'
import { ApiError, call, isSignedOut, type Method, type Query } from './call.ts'

const STALE_MS = 10_000

/** Of GET /session, by which the console knows who is signed in. */
export const SESSION = ['/session', {}] as const

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: recheckSession }),
  mutationCache: new MutationCache({ onError: recheckSession }),
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      // What the gateway refused stays refused; only a lost connection is worth another try.
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < 2,
    },
  },
})

/** Whichever call is told first that the session has ended: the sign-in comes at once, not with the next refresh. */
function recheckSession(error: unknown): void {
  const isKnown = isSignedOut(queryClient.getQueryState(SESSION)?.error)
  if (isSignedOut(error) && !isKnown) void queryClient.refetchQueries({ queryKey: SESSION }, { cancelRefetch: false })
}

/** Reads. The page before stays visible while the next one loads. */
export function useApi<Answer>(
  path: string,
  query: Query = {},
  options: { enabled?: boolean; refreshMs?: number | undefined } = {},
) {
  return useQuery<Answer, ApiError>({
    queryKey: [path, query],
    queryFn: ({ signal }) => call<Answer>('GET', path, { query, signal }),
    placeholderData: keepPreviousData,
    enabled: options.enabled ?? true,
    ...(options.refreshMs !== undefined && { refetchInterval: options.refreshMs }),
  })
}

export interface Change {
  method: Method
  path: string
  body?: unknown
}

/** Changes something, says so, and reads again what may have changed: everything, since one change shows in many lists. */
export function useChange<Answer = unknown>(
  options: { success?: string | ((answer: Answer) => string); quiet?: boolean } = {},
) {
  const client = useQueryClient()
  return useMutation<Answer, ApiError, Change>({
    mutationFn: ({ method, path, body }) => call<Answer>(method, path, { body }),
    async onSuccess(answer) {
      const { success } = options
      if (success) notifySuccess(typeof success === 'string' ? success : success(answer))
      await client.invalidateQueries()
    },
    onError(error) {
      if (!options.quiet) notifyError(error)
    },
  })
}
