/**
 * The language that somebody reads, of those that are there, and the region by whose habits numbers and times are
 * written: never those of a language that the texts around them are not in. English where nothing fits.
 */
export function chooseLanguage(
  preferred: readonly string[],
  available: readonly string[],
): { language: string; locale: string } {
  for (const locale of preferred) {
    const language = [locale, locale.split('-')[0] ?? ''].find((one) => available.includes(one))
    if (language !== undefined) return { language, locale }
  }
  return { language: 'en', locale: 'en' }
}
