import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { documentsRoot } from '#platform/package-root.ts'
import { findDocsFiles } from './docs-files.ts'
import { createSearch, type Search, wordsOf } from './docs-search.ts'
import { readSites } from './docs-site.ts'

/** `signing.md | signature invalid why | 签名一直不对怎么排查`: the page that answers a question, in both languages. */
const QUESTIONS = readFileSync(join(documentsRoot(), 'test/docs-search.txt'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(' | ') as [string, string, string])

const searches = new Map<string, Search>()
beforeAll(async () => {
  const files = findDocsFiles()
  for (const [tag, site] of readSites()) searches.set(tag, await createSearch(files, site))
}, 60_000)

/** Results that a reader sees without scrolling. */
const SEEN = 3

describe('the search', () => {
  test('has twenty questions', () => expect(QUESTIONS).toHaveLength(20))

  test.each(QUESTIONS)('finds %s: %s', (page, english, chinese) => {
    for (const [tag, query] of [
      ['en', english],
      ['zh-Hans', chinese],
    ] as const) {
      const found = searches.get(tag)!(query).map(({ name }) => `${name}.md`)
      expect(found.slice(0, SEEN), query).toContain(page)
    }
  })

  test.each([
    ['production', ['operator-going-live', 'going-live', 'installing']],
    ['webhook replay', ['webhooks']],
    ['first order curl', ['quick-start']],
  ])('puts the page for the task first: %s', (query, pages) => {
    const found = searches.get('en')!(query).map(({ name }) => name)
    expect(pages, found.join(', ')).toContain(found[0])
  })

  test('finds an identifier as a whole and by its parts, and words with a typing error', () => {
    expect(wordsOf('transactionId, PUBLIC_URL')).toEqual([
      ...['transactionid', 'transaction', 'id'],
      ...['public_url', 'public', 'url'],
    ])
    const first = (query: string) => searches.get('en')!(query).map(({ name }) => name)
    expect(first('DATABASE_POOL_SIZE').slice(0, SEEN)).toContain('configuration')
    expect(first('200012').slice(0, SEEN)).toContain('codes')
    expect(first('idempotency'.replace('ten', 'tan')).slice(0, SEEN)).toContain('idempotency')
  })

  test('names the section that answers', () => {
    const [best] = searches.get('en')!('signature does not match')
    expect(best).toMatchObject({ name: 'signing' })
    expect(best!.sections.map(({ id }) => id)).toContain('when-it-does-not-match')
  })

  test('answers words that no page has, and only signs, with nothing', () => {
    for (const query of ['qqqqqq', '???', '', '。。。']) expect(searches.get('en')!(query)).toEqual([])
  })
})
