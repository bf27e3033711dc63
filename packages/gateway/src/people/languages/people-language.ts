import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { acceptedTags, findTag } from '@dealer-esim/lib/language-tags.ts'
import { packageRoot } from '#platform/package-root.ts'
import { createTranslate, type Translate } from './translate-text.ts'

/*
 * The language in which a person reads the console and e-mails. The source has these texts in English, and
 * languages/people/TAG.json has the translation of each template. Texts for programs, of the dealer API and the RT API, stay English.
 */

/** A language of people. */
export interface PeopleLanguage {
  /** BCP 47: `zh-Hans`. */
  tag: string
  translate: Translate
}

const ENGLISH: PeopleLanguage = { tag: 'en', translate: (text) => text }

let known: ReadonlyMap<string, PeopleLanguage> | undefined

/** English and the files of languages/people, read once. A new file is a new language at the next start. */
export function getPeopleLanguages(): ReadonlyMap<string, PeopleLanguage> {
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
  return languageOf(tag ? [tag] : [])
}

/**
 * The language of an answer of the console API. The console sends the person's language in Accept-Language; a program that
 * sends none gets English.
 */
export function acceptedLanguage(header: string | undefined): PeopleLanguage {
  return languageOf(acceptedTags(header))
}

function languageOf(tags: readonly string[]): PeopleLanguage {
  const languages = getPeopleLanguages()
  for (const tag of tags) {
    const found = findTag(languages.keys(), tag)
    if (found !== undefined) return languages.get(found)!
  }
  return ENGLISH
}
