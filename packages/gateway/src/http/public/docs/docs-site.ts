import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentsRoot } from '#platform/package-root.ts'
import { ENGLISH, TRANSLATIONS } from './docs-files.ts'

/** What the documentation says around its pages, in one language: docs/site/TAG.json. */
export interface Site {
  tag: string
  /** What its readers call the language. */
  ownName: string
  texts: Readonly<Record<string, string>>
  /** Names of the groups of the navigation. */
  groups: Readonly<Record<string, string>>
  /** By the page's English address: its name in the navigation, and what it answers. */
  pages: Readonly<Record<string, { name: string; about: string }>>
}

export type Sites = ReadonlyMap<string, Site>

/** English first. */
export function readSites(root = documentsRoot()): Sites {
  const read = (tag: string): Site => ({
    tag,
    ...JSON.parse(readFileSync(join(root, `docs/site/${tag}.json`), 'utf8')),
  })
  return new Map([ENGLISH, ...TRANSLATIONS].map((tag) => [tag, read(tag)]))
}

/** The language in which an address is read, and the page's name: `zh-Hans/signing` is signing in Chinese. */
export function splitAddress(address: string): { language: string; name: string } {
  const language = TRANSLATIONS.find((tag) => address.startsWith(`${tag}/`))
  return language === undefined
    ? { language: ENGLISH, name: address }
    : { language, name: address.slice(language.length + 1) }
}

/** Whose documentation this is. The operator's name was typed by a person: escape it. */
export interface DocsBrand {
  name: string
  /** Relative to the root of the gateway, such as `brand/4f….png`. */
  logoLight?: string
  logoDark?: string
  icon?: string
  /** The accent as text, readable in each scheme. Absent: the documentation's own. */
  colours?: Record<'light' | 'dark', { text: string }>
}
