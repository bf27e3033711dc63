import type { Me } from '@dealer-esim/gateway/console-api/me.ts'
import { useEffect, useRef, useState } from 'react'
import { LoginPage } from './pages/login.tsx'
import { t } from './strings/index.ts'

/**
 * The sign-in over a page whose session has ended. A modal element lies above everything else, the page's own dialogs
 * included, and nothing below it can be read or reached.
 */
export function SignInAgain({ onSignedIn }: { onSignedIn(me: Me): unknown }) {
  const cover = useRef<HTMLDialogElement>(null)
  const [title] = useState(document.title)
  useEffect(() => {
    cover.current?.showModal()
    return () => {
      document.title = title
    }
  }, [title])
  return (
    <dialog
      ref={cover}
      className="cover"
      aria-label={t.login.title}
      onCancel={(event) => event.preventDefault()}
      // A browser closes it at a second Escape, whatever is said to the first.
      onClose={() => cover.current?.showModal()}
    >
      <LoginPage text={t.login.again} onSignedIn={onSignedIn} />
    </dialog>
  )
}
