import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { Alert, Anchor, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApiError, call, consoleBase } from '#api/call-api.ts'
import { Loading } from '#parts/load-states.tsx'
import { t } from '#strings/strings.ts'
import { SignInLayout } from './sign-in-layout.tsx'

/** The target of the link that a local gateway prints. The token follows the #, so it is in no server's log. */
export function LocalSignInPage() {
  const [token] = useState(takeToken)
  const signIn = useQuery<Me, ApiError>({
    queryKey: ['local sign-in'],
    queryFn: async () => {
      const me = await call<Me>('POST', '/session/local', { body: { token } })
      // A reload forgets what another person may have left in memory.
      location.replace(consoleBase.href)
      return me
    },
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!signIn.error) return <Loading />
  return (
    <SignInLayout title={t.signIn.title}>
      <Stack>
        <Alert color="red" role="alert">
          {signIn.error.message}
        </Alert>
        <Anchor href={consoleBase.href}>{t.signIn.back}</Anchor>
      </Stack>
    </SignInLayout>
  )
}

/** The token works once, but need not stay in the address and the history. */
function takeToken(): string {
  const token = location.hash.slice(1)
  history.replaceState(null, '', location.pathname)
  return token
}
