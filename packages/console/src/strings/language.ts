/**
 * Chooses the first preferred language that is available, and its locale for numbers and times, so that these match the
 * texts. Falls back to English.
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
