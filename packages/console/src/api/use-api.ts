import {
  keepPreviousData,
  MutationCache,
  QueryCache,
  QueryClient,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { notifyError, notifySuccess } from '#parts/notify.ts'
import { ApiError, call, isSignedOut, type Method, type Query } from './call-api.ts'
import { confirmFirst, forgetConfirmation, noticeRefusal } from './held-confirmation.ts'

const STALE_MS = 10_000

/** The query key of GET /session, which says who is signed in. */
export const SESSION = ['/session', {}] as const

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: recheckSession }),
  mutationCache: new MutationCache({ onError: recheckSession }),
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      // Retries only after a lost connection: an error response would be the same again.
      retry: (count, error) => error instanceof ApiError && error.status === 0 && count < 2,
    },
  },
})

/** Shows the sign-in as soon as any call finds that the session has ended, not only at the next refresh. */
function recheckSession(error: unknown): void {
  const isKnown = isSignedOut(queryClient.getQueryState(SESSION)?.error)
  if (isSignedOut(error) && !isKnown) void queryClient.refetchQueries({ queryKey: SESSION }, { cancelRefetch: false })
}

/** Reads data. The previous page stays visible while the next one loads. */
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

/**
 * Reads everything again when a job ends, because its result can show in many lists.
 * @param ended a value that changes when the job ends, such as its status or the time; undefined until it is known
 */
export function useReloadAfter(ended: string | undefined): void {
  const client = useQueryClient()
  const known = useRef(ended)
  useEffect(() => {
    if (ended === undefined || ended === known.current) return
    const isFirst = known.current === undefined
    known.current = ended
    if (!isFirst) void client.invalidateQueries()
  }, [client, ended])
}

export interface Change {
  method: Method
  path: string
  query?: Query
  body?: unknown
  /** A file to send instead of a body. */
  file?: File
}

/** Changes to a person's own credentials end a confirmation at the gateway. */
const CREDENTIALS = /^\/account\/(password|second-factor|passkeys)/

export interface ChangeOptions<Answer> {
  /**
   * The meaning of the answer: an Error if something is wrong with the saved data. Reported even if the saved data has replaced
   * the form by then, unlike anything that the callbacks of `mutate` would report.
   */
  success?: string | ((answer: Answer) => string | Error | undefined) | undefined
  /** The caller shows errors. */
  quiet?: boolean
}

/**
 * Changes data and refetches everything, because one change can show in many lists. Then it reports the result: once
 * "saved" is visible, the page shows what was saved, and can be left without a warning. A second click, before the button
 * shows that it is busy, does not repeat the change.
 */
export function useChange<Answer = unknown>(options: ChangeOptions<Answer> = {}) {
  const client = useQueryClient()
  const running = useRef(new Set<string>())
  const change = useMutation<Answer, ApiError, Change>({
    mutationFn: async ({ method, path, query, body, file }) =>
      call<Answer>(method, path, { query, body: await confirmFirst(body), file }),
    async onSuccess(answer, { path }) {
      if (CREDENTIALS.test(path)) forgetConfirmation()
      await client.invalidateQueries()
      const { success } = options
      const text = typeof success === 'function' ? success(answer) : success
      if (text instanceof Error) notifyError(text)
      else if (text) notifySuccess(text)
    },
    onError(error) {
      noticeRefusal(error)
      if (!options.quiet) notifyError(error)
    },
    onSettled: (_answer, _error, made) => void running.current.delete(JSON.stringify(made)),
  })
  const { mutate } = change
  const mutateOnce = useCallback<typeof mutate>(
    (made, callbacks) => {
      const key = JSON.stringify(made)
      if (running.current.has(key)) return
      running.current.add(key)
      mutate(made, callbacks)
    },
    [mutate],
  )
  return { ...change, mutate: mutateOnce }
}
