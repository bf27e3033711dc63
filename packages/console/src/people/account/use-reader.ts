import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import type { PersonLocale } from '@dealer-esim/gateway/people/account/locale.ts'
import { useEffect, useState } from 'react'
import { call } from '#api/call-api.ts'
import { queryClient, SESSION } from '#api/use-api.ts'
import { chosenBeforeSignIn, forgetChosenBeforeSignIn, rememberedReader, rememberReader } from '#strings/reader.ts'

/**
 * Shows the page as the person who has signed in reads it: what was chosen on the sign-in page becomes the person's choice, and
 * otherwise the person's choice becomes this browser's. Only as the page opens: later, a reload would lose what is typed.
 * @returns true while the page is loaded again
 */
export function useReader(me: Me | undefined): boolean {
  const [isAgain, setAgain] = useState(false)
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (!me || isDone) return
    setDone(true)
    const chosen = chosenBeforeSignIn()
    forgetChosenBeforeSignIn()
    if (chosen !== null && chosen !== me.language && !me.viewOnly) void saveChosen(me, chosen)
    const remembered = rememberedReader()
    const reader = { language: chosen ?? me.language ?? remembered.language, timeZone: me.timeZone }
    if (reader.language === remembered.language && reader.timeZone === remembered.timeZone) return
    rememberReader(reader)
    setAgain(true)
    location.reload()
  }, [me, isDone])
  return isAgain
}

/** The page is already in that language, so a failure is not shown. */
async function saveChosen({ timeZone }: Me, language: string): Promise<void> {
  const locale: PersonLocale = { language, timeZone }
  await call('PUT', '/account/locale', { body: locale }).then(
    () => queryClient.setQueryData<Me>(SESSION, (me) => me && { ...me, language }),
    () => undefined,
  )
}
