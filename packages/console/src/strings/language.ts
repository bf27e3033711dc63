/**
 * The language of the texts and the locale for numbers and times, so that these match: a reader in Zurich who has chosen English
 * gets English texts, and numbers as the browser's own English writes them.
 * @param preferred the browser's languages, best first
 * @param chosen what the person chose, if we have it
 */
export function chooseLanguage(
  preferred: readonly string[],
  available: readonly string[],
  chosen?: string | null,
): { language: string; locale: string } {
  const offered = chosen && available.includes(chosen) ? [chosen] : available
  for (const locale of preferred) {
    const language = findLanguage(locale, offered)
    if (language !== undefined) return { language, locale }
  }
  const [language = 'en'] = offered
  return { language, locale: language }
}

/** `zh-CN` finds `zh-Hans`, `pt-PT` finds `pt`. Another script is another text: `zh-TW` does not find `zh-Hans`. */
function findLanguage(locale: string, offered: readonly string[]): string | undefined {
  if (offered.includes(locale)) return locale
  const reader = likely(locale)
  const readable = offered.filter((tag) => {
    const { language, script } = likely(tag) ?? {}
    return language === reader?.language && script === reader?.script
  })
  return readable.find((tag) => likely(tag)?.region === reader?.region) ?? readable[0]
}

/** undefined for a tag that is malformed. */
function likely(tag: string): Intl.Locale | undefined {
  try {
    return new Intl.Locale(tag).maximize()
  } catch {
    return undefined
  }
}
