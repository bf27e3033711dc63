/** How a person reads the console, as this browser remembers it for the sign-in page and the next visit. null: as the browser says. */
export interface Reader {
  language: string | null
  timeZone: string | null
}

const NAMES = { language: 'language', timeZone: 'time-zone' } as const

/** Tests on Node.js have no storage. */
const storage = globalThis.localStorage as Storage | undefined

export function rememberedReader(): Reader {
  const read = (name: string) => storage?.getItem(name) ?? null
  return { language: read(NAMES.language), timeZone: read(NAMES.timeZone) }
}

/** Remembers the choices. They take effect when the page is loaded again, because modules read texts when they are loaded. */
export function rememberReader({ language, timeZone }: Reader): void {
  const write = (name: string, value: string | null) =>
    value === null ? storage?.removeItem(name) : storage?.setItem(name, value)
  write(NAMES.language, language)
  write(NAMES.timeZone, timeZone)
}

const CHOSEN = 'chosen-language'

/** On the sign-in page: the choice also becomes that of the person who signs in now, in this tab. */
export function chooseBeforeSignIn(language: string): void {
  rememberReader({ ...rememberedReader(), language })
  sessionStorage.setItem(CHOSEN, language)
}

export function chosenBeforeSignIn(): string | null {
  return sessionStorage.getItem(CHOSEN)
}

export function forgetChosenBeforeSignIn(): void {
  sessionStorage.removeItem(CHOSEN)
}
