import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'
import { TEXT_NAMES, TEXTS, type TextName, type Values } from './texts.ts'

/** A language in which travellers can read their page and their mail. */
export interface Language {
  /** BCP 47, as the file is named: `pt-BR`. */
  tag: string
  direction: 'ltr' | 'rtl'
  /** In the language itself: `Português (Brasil)`. */
  ownName: string
  texts: Readonly<Record<TextName, string>>
  /** “{count} countries” by plural form (CLDR). */
  countries: PluralForms
}

export type PluralForms = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>

/** The language of a traveller for whom no other is known. */
export const ENGLISH = 'en'

/** A file of languages/ that cannot be used. */
export class UnusableLanguage extends Error {}

/**
 * A file `languages/TAG.json` is a language: adding one adds the language at the next start. A text that it lacks is English.
 *
 * @throws UnusableLanguage with what is wrong, and where
 */
export function readLanguages(folder: string): ReadonlyMap<string, Language> {
  const read = (file: string) => ({ file, content: parseFile(join(folder, file)) })
  const english = read(`${ENGLISH}.json`)
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  const languages = files.map((file) => languageOf(read(file), english.content))
  languages.sort((left, right) => orderOf(left) - orderOf(right) || left.tag.localeCompare(right.tag))
  return new Map(languages.map((language) => [language.tag, language]))
}

let known: ReadonlyMap<string, Language> | undefined

/** The languages of this installation, by tag, read once. */
export function getLanguages(): ReadonlyMap<string, Language> {
  known ??= readLanguages(join(packageRoot(), 'languages'))
  return known
}

export function getEnglish(): Language {
  return getLanguages().get(ENGLISH)!
}

/**
 * The language with the texts that a brand has replaced, by their name in every language (`help`), or in one (`de.help`). One
 * without the placeholders of ours is left out: it would lose what they say.
 */
export function withTexts(language: Language, replaced: Readonly<Record<string, string>> = {}): Language {
  const own = TEXT_NAMES.flatMap((name) => {
    const text = replaced[`${language.tag}.${name}`] ?? replaced[name]
    const fits = text !== undefined && placeholdersOf(text).join() === [...TEXTS[name]].sort().join()
    return fits ? [[name, text]] : []
  })
  return own.length === 0 ? language : { ...language, texts: { ...language.texts, ...Object.fromEntries(own) } }
}

/** A text as plain text. */
export function textOf<Name extends TextName>(language: Language, name: Name, values: Values<Name>): string {
  return fill(language.texts[name], values)
}

/** Replaces `{name}` by its value: “Help from {seller}”. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(PLACEHOLDERS, (_, name: string) => values[name] ?? '')
}

/** The placeholders of a text, sorted. */
export function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDERS)].map(([, name]) => name!).sort()
}

const PLACEHOLDERS = /\{(\w+)\}/g

/** `5 countries`, in the plural form of the language. */
export function countriesText({ tag, countries }: Language, count: number): string {
  const form = countries[new Intl.PluralRules(tag).select(count)] ?? countries.other
  return fill(form, { count: new Intl.NumberFormat(tag).format(count) })
}

function parseFile(path: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  } catch (error) {
    throw new UnusableLanguage(`${path} cannot be read: ${(error as Error).message}`)
  }
}

function languageOf(
  { file, content }: { file: string; content: Record<string, unknown> },
  english: Record<string, unknown>,
): Language {
  const tag = file.slice(0, -'.json'.length)
  const texts = Object.fromEntries(
    TEXT_NAMES.map((name) => {
      const text = content[name] ?? english[name]
      const isText = typeof text === 'string' && text.trim() !== ''
      if (!isText || placeholdersOf(text).join() !== [...TEXTS[name]].sort().join())
        throw new UnusableLanguage(
          `languages/${file}: ${name} must be a text with the placeholders of the English one.`,
        )
      return [name, text]
    }),
  )
  const unknown = Object.keys(content).find((name) => name !== 'countries' && !Object.hasOwn(TEXTS, name))
  if (unknown !== undefined) throw new UnusableLanguage(`languages/${file}: there is no text ${unknown}.`)
  const { script } = localeOf(tag, file).maximize()
  return {
    tag,
    direction: RIGHT_TO_LEFT.has(script!) ? 'rtl' : 'ltr',
    ownName: ownNameOf(tag),
    texts: texts as Record<TextName, string>,
    countries: countriesOf(content.countries ?? english.countries, file),
  }
}

function localeOf(tag: string, file: string): Intl.Locale {
  try {
    return new Intl.Locale(tag)
  } catch {
    throw new UnusableLanguage(`languages/${file}: the file’s name must be a BCP 47 language tag, such as pt-BR.`)
  }
}

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm', 'Rohg'])

/** With a capital letter where the script has them: menus begin with one. */
function ownNameOf(tag: string): string {
  const name = new Intl.DisplayNames(tag, { type: 'language', languageDisplay: 'standard' }).of(tag)!
  return name.charAt(0).toLocaleUpperCase(tag) + name.slice(1)
}

function countriesOf(forms: unknown, file: string): PluralForms {
  const isForms =
    typeof forms === 'object' &&
    forms !== null &&
    'other' in forms &&
    Object.values(forms).every((text) => typeof text === 'string' && placeholdersOf(text).join() === 'count')
  if (!isForms)
    throw new UnusableLanguage(`languages/${file}: countries must have plural forms with {count}, such as other.`)
  return forms as PluralForms
}

/** The order of menus: by how many travellers read the language, as far as we know; further ones follow. */
const MENU = 'en zh-Hans zh-Hant ja ko es pt-BR fr de it nl pl ru uk tr vi th id hi ar he'.split(' ')

function orderOf({ tag }: Language): number {
  const at = MENU.indexOf(tag)
  return at === -1 ? MENU.length : at
}
