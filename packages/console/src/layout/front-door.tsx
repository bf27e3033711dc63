import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { type ComponentType, Suspense, useState } from 'react'
import { consoleBase, isSignedOut } from '#api/call-api.ts'
import { queryClient, SESSION, useApi } from '#api/use-api.ts'
import { Loading, LoadState } from '#parts/load-states.tsx'
import { wasSignedIn } from '#people/sign-in/session.ts'
import { SignInPage } from '#people/sign-in/sign-in.tsx'

/** Pages that work without a session. */
const OPEN_PAGES = ['welcome', 'local', 'signed-in']

/**
 * Lets people in. The sign-in page comes without the console, which is many times larger, so it appears almost immediately.
 * Where somebody was signed in before, the console is loaded immediately and asks for the session itself.
 */
export function FrontDoor({ application: Application }: { application: ComponentType }) {
  const [isInside, setInside] = useState(() => wasSignedIn() || OPEN_PAGES.includes(currentPage()))
  return isInside ? (
    <Suspense fallback={<Loading />}>
      <Application />
    </Suspense>
  ) : (
    <Outside onSession={() => setInside(true)} />
  )
}

function Outside({ onSession }: { onSession(): void }) {
  const { data: me, error, refetch } = useApi<Me>('/session')
  const [isIn, setIn] = useState(false)
  if (me && !isIn) {
    setIn(true)
    onSession()
  }
  if (!isSignedOut(error)) return <LoadState error={error} retry={refetch} />
  return (
    <SignInPage
      onSignedIn={(signedIn) => {
        queryClient.setQueryData(SESSION, signedIn)
        onSession()
      }}
    />
  )
}

function currentPage(): string {
  return location.pathname.slice(consoleBase.pathname.length).split('/', 1)[0]!
}
