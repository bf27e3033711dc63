import { IntlMessageFormat } from 'intl-messageformat'
import en from './en.json'
import { chooseLanguage } from './language.ts'
import { type PackedMessage, unpack } from './packed-message.ts'
import { rememberedReader } from './reader.ts'
import type { StartTexts } from './text-parts.ts'

const files = import.meta.glob<StartTexts>(['./*.json', '!./en.json'], { import: 'default' })
/** All languages that we have, as BCP 47 tags. */
export const languages = ['en', ...Object.keys(files).map((path) => path.slice('./'.length, -'.json'.length))]

/** The language of the texts, and the locale for numbers and times. Tests on Node 20 have no navigator. */
export const { language, locale } = chooseLanguage(
  globalThis.navigator?.languages ?? ['en'],
  languages,
  rememberedReader().language,
)
const load = files[`./${language}.json`]
/** The texts that are loaded with the console. Those of further pages are in `page-texts.ts`. */
// English is bundled. Another language is awaited here, because modules read texts when they are loaded.
export const t: StartTexts = load === undefined ? en : await load()

/** Fills in the values of a text, e.g. `formatMessage(t.esims.days, { count: 7 })` is “7 days”. */
export function formatMessage(text: string, values: Record<string, string | number> = {}): string {
  // A text without values is not parsed, neither here nor by the build.
  return typeof text === 'string' && !text.includes('{') ? text : (messageOf(text).format(values) as string)
}

/** The name of a language in itself: 简体中文. */
export function nameOfLanguage(tag: string): string {
  return new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag
}

const messages = new Map<string | PackedMessage, IntlMessageFormat>()

/** @param text packed by the build; a text where the files are read directly, as tests do */
function messageOf(text: string | PackedMessage): IntlMessageFormat {
  const known = messages.get(text)
  if (known !== undefined) return known
  const message = new IntlMessageFormat(typeof text === 'string' ? text : unpack(text), locale)
  messages.set(text, message)
  return message
}
