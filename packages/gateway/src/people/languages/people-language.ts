import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'
import { acceptedTags, findTag } from './language-tags.ts'
import { createTranslate, type Translate } from './translate-text.ts'

/*
 * The language in which a person reads the console and e-mails. The source has these texts in English, and
 * languages/people/TAG.json has the translation of each template. Texts for programs, of the dealer API and the RT API, stay English.
 */

/** A language of people. */
interface PeopleLanguage {
  /** BCP 47: `zh-Hans`. */
  tag: string
  translate: Translate
}

const ENGLISH: PeopleLanguage = { tag: 'en', translate: (text) => text }

let known: ReadonlyMap<string, PeopleLanguage> | undefined

/** English and the files of languages/people, read once. A new file is a new language at the next start. */
function getPeopleLanguages(): ReadonlyMap<string, PeopleLanguage> {
  known ??= new Map([[ENGLISH.tag, ENGLISH], ...readLanguages(join(packageRoot(), 'languages', 'people'))])
  return known
}

function readLanguages(folder: string): [string, PeopleLanguage][] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return files.map((file) => {
    const tag = file.slice(0, -'.json'.length)
    const texts = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string>
    return [tag, { tag, translate: createTranslate(texts) }]
  })
}

/** @param tag what a person chose, such as `zh-Hans`; null: nothing yet */
export function peopleLanguage(tag: string | null | undefined): PeopleLanguage {
  return firstOf(tag ? [tag] : [])
}

/**
 * The language of an answer of the console API. The console sends the person's language in Accept-Language; a program that
 * sends none gets English.
 */
export function languageOf({ headers }: { headers: { 'accept-language'?: string | undefined } }): PeopleLanguage {
  return firstOf(acceptedTags(headers['accept-language']))
}

/**
 * Writes the times in a text, `2026-11-20T13:28:09.000Z`, as clocks of a time zone show them: `20 November 2026 at 21:28 GMT+8`.
 * @param timeZone null: they stay
 */
export function withLocalTimes(text: string, tag: string, timeZone: string | null): string {
  if (timeZone === null || !isTimeZone(timeZone)) return text
  // English dates as most of its readers write them, with 24 hours.
  const locale = tag === ENGLISH.tag ? 'en-GB' : tag
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone })
  const zone = new Intl.DateTimeFormat(locale, { timeZoneName: 'short', timeZone })
  const nameAt = (time: Date) => zone.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  return text.replace(UTC_TIMES, (time) => `${moment.format(new Date(time))} ${nameAt(new Date(time))}`)
}

/** Another release of the runtime may have known a zone that this one does not. */
function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const UTC_TIMES = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z/g

function firstOf(tags: readonly string[]): PeopleLanguage {
  const languages = getPeopleLanguages()
  for (const tag of tags) {
    const found = findTag(languages.keys(), tag)
    if (found !== undefined) return languages.get(found)!
  }
  return ENGLISH
}
