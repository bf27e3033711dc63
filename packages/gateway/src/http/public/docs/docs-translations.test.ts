import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import MarkdownIt, { type Token } from 'markdown-it'
import { describe, expect, test } from 'vitest'
import { type DocsPage, ENGLISH, findDocsFiles, TRANSLATED_FROM } from './docs-files.ts'
import { NAVIGATION } from './docs-navigation.ts'
import { readSites } from './docs-site.ts'

const engine = new MarkdownIt()
const { pages } = findDocsFiles()
const translations = [...pages.values()].filter(
  ({ language, textLanguage }) => language === textLanguage && language !== ENGLISH,
)

describe.each(translations.map((page) => [page.path, page] as const))('%s', (_, page) => {
  const english = engine.parse(readFileSync(page.english.file, 'utf8'), {})
  const translated = engine.parse(textOf(page), {})

  test('was translated from the English text of today', () => {
    const hash = createHash('sha256').update(readFileSync(page.english.file)).digest('hex')
    const first = readFileSync(page.file, 'utf8').split('\n')[0]
    const advice = `${page.english.path} has changed: translate the change, then write this first line into ${page.path}`
    expect(first, advice).toBe(`<!-- English: ${hash} -->`)
  })

  test('has the code blocks of the English page, byte for byte', () => {
    expect(codeOf(translated)).toEqual(codeOf(english))
  })

  test('has headings of the same levels, and tables of as many rows', () => {
    expect(headingsOf(translated)).toEqual(headingsOf(english))
    expect(tablesOf(translated)).toEqual(tablesOf(english))
  })

  test('has the same links and pictures', () => {
    expect(linksOf(translated)).toEqual(linksOf(english))
  })
})

test('the dealers’ pages are translated', () => {
  const missing = [...pages.values()].filter(
    ({ name, language, textLanguage }) => language !== textLanguage && EXPECTED.has(name),
  )
  expect(missing.map(({ name, language }) => `${language}/${name}`)).toEqual([])
})

/** Pages of the dealers' part that nobody has translated yet. */
const UNTRANSLATED = ['reference', 'brands', 'console', 'lists', 'sign-in', 'sdk', 'sdk-python', 'sdk-php']
const EXPECTED = new Set(
  NAVIGATION.dealers.flatMap((group) => group.pages).filter((name) => !UNTRANSLATED.includes(name)),
)

describe('the names of the navigation', () => {
  const english = readSites().get(ENGLISH)!

  test.each([...readSites().values()])('are complete in $ownName', ({ texts, groups, pages: names }) => {
    const groupsShown = Object.values(NAVIGATION).flatMap((all) => all.map(({ group }) => group))
    const pagesShown = Object.values(NAVIGATION).flatMap((all) => all.flatMap((group) => group.pages))
    expect(Object.keys(texts)).toEqual(Object.keys(english.texts))
    expect(Object.keys(groups).sort()).toEqual(groupsShown.sort())
    expect(Object.keys(names).sort()).toEqual(pagesShown.sort())
    for (const { name, about } of Object.values(names)) expect([name, about]).not.toContain('')
    expect(texts.results).toContain('{query}')
  })
})

function textOf({ file }: DocsPage): string {
  return readFileSync(file, 'utf8').replace(TRANSLATED_FROM, '')
}

function codeOf(tokens: Token[]): string[] {
  return tokens
    .filter(({ type }) => type === 'fence' || type === 'code_block')
    .map(({ info, content }) => `${info}\n${content}`)
}

function headingsOf(tokens: Token[]): string[] {
  return tokens.filter(({ type }) => type === 'heading_open').map(({ tag }) => tag)
}

/** The number of rows and cells of each table. */
function tablesOf(tokens: Token[]): [rows: number, cells: number][] {
  const tables: [number, number][] = []
  for (const { type } of tokens) {
    if (type === 'table_open') tables.push([0, 0])
    if (type === 'tr_open') tables.at(-1)![0] += 1
    if (type === 'td_open' || type === 'th_open') tables.at(-1)![1] += 1
  }
  return tables
}

/** Sorted: another language may name what it links to in another order. */
function linksOf(tokens: Token[]): string[] {
  const inline = tokens.flatMap((token) => token.children ?? [])
  return inline
    .flatMap((token) => [token.attrGet('href'), token.attrGet('src')])
    .filter((target) => target !== null)
    .map(String)
    .sort()
}
