/**
 * The language that somebody reads, of those that are there, and the region by whose habits numbers and times are
 * written: never those of a language that the texts around them are not in. English where nothing fits.
 */
export function languageFor(wanted: readonly string[], there: readonly string[]): { language: string; locale: string } {
  for (const locale of wanted) {
    const language = [locale, locale.split('-')[0] ?? ''].find((one) => there.includes(one))
    if (language !== undefined) return { language, locale }
  }
  return { language: 'en', locale: 'en' }
}
