import en from './en.json'
import { chooseLanguage } from './language.ts'

/** All texts of the console. A language is a JSON file in this folder, named after its code, with the members of en.json. */
export type Strings = typeof en

const files = import.meta.glob<Strings>(['./*.json', '!./en.json'], { import: 'default' })
const codes = Object.keys(files).map((path) => path.slice('./'.length, -'.json'.length))

/** The language of the texts, and the locale for numbers and times. Tests on Node 20 have no navigator. */
export const { language, locale } = chooseLanguage(globalThis.navigator?.languages ?? ['en'], ['en', ...codes])
const load = files[`./${language}.json`]
// English is bundled. Another language is awaited here, because modules read texts when they are loaded.
export const t: Strings = load === undefined ? en : await load()

type Parts = Record<string, string | number>

/** Replaces the {placeholders} of a text. */
export function interpolate(text: string, parts: Parts): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => String(parts[name] ?? place))
}

/** The plural forms of a text in its language: at least `one` and `other`. */
export interface PluralForms extends Partial<Record<Intl.LDMLPluralRule, string>> {
  other: string
}

const rules = new Intl.PluralRules(language)
const numbers = new Intl.NumberFormat(locale)

/** Selects the plural form for a number. Its {placeholders} are not replaced. */
export function pluralForm(forms: PluralForms, count: number): string {
  return forms[rules.select(count)] ?? forms.other
}

/** Selects the plural form for a number and replaces its {placeholders}; {count} is the number. */
export function plural(forms: PluralForms, count: number, parts: Parts = {}): string {
  return interpolate(pluralForm(forms, count), { count: numbers.format(count), ...parts })
}
