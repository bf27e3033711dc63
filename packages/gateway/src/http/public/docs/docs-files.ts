import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentsRoot } from '#platform/package-root.ts'
import { type Audience, NAVIGATION, partOf } from './docs-navigation.ts'

/**
 * The files served under /docs, by address without that prefix: `quick-start` is docs/quick-start.md. The table is built
 * once from the repository, so that no requested address is ever used as a file path.
 */
export interface DocsFiles {
  audience: Audience
  /** Markdown pages by address, in every language: `signing` and `zh-Hans/signing`. */
  pages: ReadonlyMap<string, DocsPage>
  /** Samples, test vectors, pictures and diagrams, served unchanged. */
  files: ReadonlyMap<string, DocsFile>
  /** The address of a file, by its path in the repository. Of a page, that in the given language. */
  addressOf(path: string, language?: string): string | undefined
}

export interface DocsFile {
  /** In the repository, with slashes: `docs/quick-start.md`. */
  path: string
  /** Absolute. */
  file: string
}

export interface DocsPage extends DocsFile {
  /** The address without its language: `signing` for `zh-Hans/signing`. */
  name: string
  language: string
  /** The language of the text: English if the page has no translation. */
  textLanguage: string
  /** The English page. A translation has the same links, which are resolved from the path of this one. */
  english: DocsFile
}

export const ENGLISH = 'en'

/** The languages of pages beside English, each a folder of docs with a file of names in docs/site. */
export const TRANSLATIONS = ['zh-Hans'] as const

/** The first line of a translation, with the SHA-256 of the English text that was translated. */
export const TRANSLATED_FROM = /^<!-- English: ([0-9a-f]{64}) -->\n+/

/** Documents outside of docs/. */
const OTHER_DOCUMENTS = {
  pages: {
    changelog: 'CHANGELOG.md',
    sdk: 'packages/sdk/README.md',
    'sdk-python': 'sdks/python/README.md',
    'sdk-php': 'sdks/php/README.md',
  },
  files: {
    'vectors.json': 'test/vectors/signing.json',
    'certify-shop.mts': 'packages/sdk/examples/certify-shop.mts',
    'certify_shop.py': 'sdks/python/examples/certify_shop.py',
    'certify_shop.php': 'sdks/php/examples/certify_shop.php',
    'django_shop.py': 'sdks/python/examples/django_shop.py',
    'symfony_shop.php': 'sdks/php/examples/symfony_shop.php',
  },
}

/** @param audience dealers: the operator's part is as if it did not exist, and so are pictures that only it shows */
export function findDocsFiles(audience: Audience = 'all', root = documentsRoot()): DocsFiles {
  const english = new Map<string, DocsFile>()
  const translated = new Map<string, DocsFile>()
  const files = new Map<string, DocsFile>()
  for (const path of filesUnder(root, 'docs')) {
    const source = { path, file: join(root, path) }
    const address = path.slice('docs/'.length)
    if (path.endsWith('.md')) {
      const page = address.replace(/(?:^|(?<=\/))(?:index|README)\.md$|\.md$/, '')
      const isTranslation = TRANSLATIONS.some((language) => page.startsWith(`${language}/`))
      ;(isTranslation ? translated : english).set(page, source)
    } else if (/^docs\/(samples\/|images\/.*\.(png|svg)$|postman[a-z-]*\.json$)/.test(path)) files.set(address, source)
  }
  for (const [kind, table] of [
    ['pages', english],
    ['files', files],
  ] as const) {
    for (const [address, path] of Object.entries(OTHER_DOCUMENTS[kind])) {
      if (existsSync(join(root, path))) table.set(address, { path, file: join(root, path) })
    }
  }
  if (audience === 'dealers') {
    for (const name of english.keys()) if (partOf(name) === 'operators') english.delete(name)
    const shown = [...english.values()].map(({ file }) => readFileSync(file, 'utf8')).join('\n')
    for (const name of files.keys()) if (name.startsWith('images/') && !shown.includes(name)) files.delete(name)
  }
  return { audience, pages: inEveryLanguage(english, translated), files, addressOf: addresses(english, files) }
}

/** A page without a translation shows the English text at the address of each language. */
function inEveryLanguage(english: Map<string, DocsFile>, translated: Map<string, DocsFile>): Map<string, DocsPage> {
  const pages = new Map<string, DocsPage>()
  for (const [name, source] of english) {
    pages.set(name, { ...source, name, language: ENGLISH, textLanguage: ENGLISH, english: source })
    for (const language of TRANSLATIONS) {
      const translation = translated.get(`${language}/${name}`)
      const textLanguage = translation ? language : ENGLISH
      pages.set(`${language}/${name}`, { ...(translation ?? source), name, language, textLanguage, english: source })
    }
  }
  return pages
}

function addresses(english: Map<string, DocsFile>, files: Map<string, DocsFile>): DocsFiles['addressOf'] {
  const nameOf = new Map([...english].map(([name, { path }]) => [path, name]))
  const fileOf = new Map([...files].map(([address, { path }]) => [path, address]))
  for (const file of ['openapi.json', 'openapi-rt.json']) fileOf.set(`docs/${file}`, file)
  return (path, language = ENGLISH) => {
    const name = nameOf.get(path)
    return name === undefined ? fileOf.get(path) : addressIn(language, name)
  }
}

/** The address of a page in a language: `zh-Hans/signing`. */
export function addressIn(language: string, name: string): string {
  return language === ENGLISH ? name : `${language}/${name}`
}

/** The address of a page as Markdown: `signing.md`, `samples/README.md`. */
export function markdownAddress({ name, language }: Pick<DocsPage, 'name' | 'language'>): string {
  if (name === '') return addressIn(language, 'index.md')
  return addressIn(language, name.endsWith('/') ? `${name}README.md` : `${name}.md`)
}

/** The heading of what a page for dealers says to the operator alone, in each language. */
const OPERATORS_HEADING = /^(#+) (?:For operators|面向运营商)$/

/**
 * The Markdown of a page. Dealers who may read only their part do not get the sections “For operators”: each reaches to the
 * next heading of its level, such as `## Prices` after `## For operators`.
 */
export function readPage({ file }: DocsFile, audience: Audience): string {
  const text = readFileSync(file, 'utf8').replace(TRANSLATED_FROM, '')
  if (audience === 'all') return text
  let isCode = false
  let hiddenLevel = 0
  const kept = text.split('\n').filter((line) => {
    if (/^ *```/.test(line)) isCode = !isCode
    const level = isCode ? 0 : (/^(#+) /.exec(line)?.[1]?.length ?? 0)
    if (hiddenLevel > 0 && level > 0 && level <= hiddenLevel) hiddenLevel = 0
    const opening = isCode ? null : OPERATORS_HEADING.exec(line)
    if (opening) hiddenLevel = opening[1]!.length
    return hiddenLevel === 0
  })
  return `${kept.join('\n').trimEnd()}\n`
}

/** The names of the pages that a part lists, and are installed. */
export function listedPages(files: DocsFiles): string[] {
  const listed = Object.values(NAVIGATION).flatMap((groups) => groups.flatMap(({ pages }) => pages))
  return listed.filter((name) => files.pages.has(name))
}

function filesUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesUnder(root, path) : [path]
  })
}
