import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { Loading } from '#parts/load-states.tsx'
import { t } from '#strings/strings.ts'
import { finishAtProvider, goToProvider, type ProviderKind, reportToOpener } from './provider.ts'
import { SignInFailed, SignInLayout } from './sign-in-layout.tsx'

/** The provider redirects the browser to this page. Also the first page of a separate window. */
export function SignedInPage() {
  const [query] = useState(takeQuery)
  const finish = useQuery<'left' | 'reported', ApiError>({
    queryKey: ['provider', query],
    queryFn: () => proceed(query),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (finish.error) return <SignInFailed title={t.signIn.providerTitle} message={finish.error.message} />
  if (finish.data === 'reported')
    return (
      <SignInLayout title={t.signIn.providerTitle}>
        <Text>{t.signIn.providerWindowDone}</Text>
      </SignInLayout>
    )
  return <Loading />
}

/** The code works once, but need not stay in the address and the history. */
function takeQuery(): string {
  const query = location.search
  history.replaceState(null, '', location.pathname)
  return query
}

async function proceed(query: string): Promise<'left' | 'reported'> {
  const start = new URLSearchParams(query).get('start')
  if (start === 'session' || start === 'confirmation') {
    await goToProvider(start satisfies ProviderKind, { returns: false })
    return 'left'
  }
  const { result, returnTo } = await finishAtProvider(query)
  if (returnTo === undefined) {
    reportToOpener(result)
    close()
    return 'reported'
  }
  // A reload clears another person's data from memory.
  location.replace(returnTo)
  return 'left'
}
