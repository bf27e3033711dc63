import { acceptedTags, findTag } from '#people/languages/language-tags.ts'
import { ENGLISH, type Language } from './traveller-language.ts'

/** What is known about the language of a reader, all of it unchecked. */
export interface LanguageSources {
  /** Chosen on the page, now or earlier. */
  chosen?: string | undefined
  /** The language that the order or send named when it handed the eSIM over. */
  handOver?: string | null | undefined
  acceptLanguage?: string | undefined
  /** The language of the seller's brand. */
  brand?: string | null | undefined
}

/** The first source with a language that we have; otherwise English. */
export function chooseLanguage<Offered extends Pick<Language, 'tag'>>(
  languages: ReadonlyMap<string, Offered>,
  { chosen, handOver, acceptLanguage, brand }: LanguageSources,
): Offered {
  for (const tag of [chosen, handOver, ...acceptedTags(acceptLanguage), brand]) {
    const found = tag ? findLanguage(languages, tag) : undefined
    if (found) return found
  }
  return languages.get(ENGLISH)!
}

/** The language that a reader of `tag` understands: `pt-PT` finds `pt-BR`. */
export function findLanguage<Offered extends Pick<Language, 'tag'>>(
  languages: ReadonlyMap<string, Offered>,
  tag: string,
): Offered | undefined {
  const found = findTag(languages.keys(), tag)
  return found === undefined ? undefined : languages.get(found)
}
