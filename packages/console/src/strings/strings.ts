import en from './en.json'
import { chooseLanguage } from './language.ts'

/** Every text of the console. A language is a file beside en.json, named by its code, with the same members. */
export type Strings = typeof en

const files = import.meta.glob<Strings>(['./*.json', '!./en.json'], { import: 'default' })
const codes = Object.keys(files).map((path) => path.slice('./'.length, -'.json'.length))

/** In which the console speaks, and by whose habits it writes numbers and times. */
export const { language, locale } = chooseLanguage(navigator.languages, ['en', ...codes])
const load = files[`./${language}.json`]
// English is there at once; another language is waited for, since texts are read as soon as modules are.
export const t: Strings = load === undefined ? en : await load()

type Parts = Record<string, string | number>

/** Fills the {places} of a text. */
export function interpolate(text: string, parts: Parts): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => String(parts[name] ?? place))
}

/** A text in the forms that its language has for numbers: at least for one and for others. */
export interface PluralForms extends Partial<Record<Intl.LDMLPluralRule, string>> {
  other: string
}

const rules = new Intl.PluralRules(language)
const numbers = new Intl.NumberFormat(locale)

/** The form that fits a number, its {places} unfilled. */
export function pluralForm(forms: PluralForms, count: number): string {
  return forms[rules.select(count)] ?? forms.other
}

/** Fills the {places} of the form that fits, {count} with the number. */
export function plural(forms: PluralForms, count: number, parts: Parts = {}): string {
  return interpolate(pluralForm(forms, count), { count: numbers.format(count), ...parts })
}
