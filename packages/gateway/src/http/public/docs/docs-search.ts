import MiniSearch from 'minisearch'
import { stemmer } from 'stemmer'
import { addressIn, type DocsFiles, listedPages } from './docs-files.ts'
import { renderPage } from './docs-markdown.ts'
import type { Site } from './docs-site.ts'

/** A page that was found, with its sections that fit best. */
export interface Found {
  name: string
  title: string
  about: string
  sections: { id: string; heading: string }[]
}

interface Entry {
  id: string
  name: string
  fragment: string
  heading: string
  level: number
  /** The name of the page in the navigation and what it answers; only at the page's beginning. */
  page: string
  text: string
}

/** Names, headings and the sentence about a page say more than its text. */
const BOOST = { page: 6, heading: 3, text: 1 }

/** What is looked at for one query; more words than anybody types. */
const TERMS_MAX = 8

/**
 * Letters that may be wrong in a word of 5 to 14. A stranger chooses the words, and nobody's orders are served during a search: one
 * for six words of 30 letters, with six of them wrong, took 20 ms.
 */
const WRONG_LETTERS_MAX = 2
const PAGES_MAX = 10
const SECTIONS_MAX = 3

/** Shorter words begin too many others. */
const PREFIX_LENGTH_MIN = 4

/** Each of further sections of a page adds this share of its score: a page about the matter has several. */
const FURTHER_SECTION = 0.2

export type Search = (query: string) => Found[]

/**
 * Indexes the sections of all pages in one language, English texts of pages without a translation among them. It gives way to
 * other work after each page: the process that serves it also takes orders.
 */
export async function createSearch(files: DocsFiles, site: Site): Promise<Search> {
  const index = new MiniSearch<Entry>({
    fields: ['page', 'heading', 'text'],
    storeFields: ['name', 'fragment', 'heading', 'level'],
    tokenize: (text) => wordsOf(text),
    processTerm: stemOf,
  })
  for (const name of listedPages(files)) {
    const address = addressIn(site.tag, name)
    const { sections } = renderPage(address, files.pages.get(address)!, files)
    const { name: title, about } = site.pages[name]!
    index.addAll(
      sections.map(({ id, heading, level, text }, at) => ({
        id: `${name}#${id}`,
        name,
        fragment: id,
        heading,
        level,
        page: at === 0 ? `${title} ${about}` : '',
        text,
      })),
    )
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const hitsOf = (words: readonly string[]) => {
    const asked = words.filter((word) => !STOP_WORDS.has(word))
    return index.search((asked.length > 0 ? asked : words).slice(0, TERMS_MAX).join(' '), {
      tokenize: (text) => text.split(' '),
      boost: BOOST,
      prefix: (term) => term.length >= PREFIX_LENGTH_MIN,
      fuzzy: (term) => (/^[a-z]{5,14}$/.test(term) ? 0.2 : false),
      maxFuzzy: WRONG_LETTERS_MAX,
      weights: { prefix: 0.4, fuzzy: 0.2 },
    })
  }
  return (query) => {
    // An identifier that is written somewhere is found there; else its parts are looked for.
    const exact = hitsOf(wordsOf(query, 'whole'))
    const hits = exact.length > 0 ? exact : hitsOf(wordsOf(query))
    const pages = new Map<string, { score: number; found: number; sections: Found['sections'] }>()
    for (const { name, fragment, heading, level, score } of hits) {
      const page = pages.get(name) ?? { score: 0, found: 0, sections: [] }
      page.score += score * FURTHER_SECTION ** page.found++
      // The first heading is that of the page.
      if (level > 1 && page.sections.length < SECTIONS_MAX) page.sections.push({ id: fragment, heading })
      pages.set(name, page)
    }
    const best = [...pages].sort(([, left], [, right]) => right.score - left.score).slice(0, PAGES_MAX)
    return best.map(([name, { sections }]) => {
      const { name: title, about } = site.pages[name]!
      return { name, title, about, sections }
    })
  }
}

/** Splits Chinese, which has no spaces: `怎么退款` is 怎么 and 退款. It takes a hundred times as long as an expression. */
const segmenter = new Intl.Segmenter('zh-Hans', { granularity: 'word' })

/** Identifiers count as a whole and by their parts: `transactionId` is also transaction and id. */
export function wordsOf(text: string, identifiers: 'whole' | 'parts too' = 'parts too'): string[] {
  const words: string[] = []
  for (const [run] of text.matchAll(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+/gu)) {
    if (/^\p{Script=Han}/u.test(run)) {
      for (const { segment } of segmenter.segment(run)) words.push(segment)
      continue
    }
    words.push(run.toLowerCase())
    if (identifiers === 'whole') continue
    const parts = run.split(/_|(?<=[a-z])(?=[A-Z])/)
    if (parts.length > 1) words.push(...parts.filter(Boolean).map((part) => part.toLowerCase()))
  }
  return words
}

function stemOf(word: string): string {
  return /^[a-z]+$/.test(word) ? stemmer(word) : word
}

/** Words of a question that say nothing about the page. */
const STOP_WORDS = new Set([
  ...'a an and are as at be been by can could do does for from get had has have how i if in is it its me my not of on or'.split(
    ' ',
  ),
  ...'our should so that the their them there they this to was we were what when where which who why will with you your'.split(
    ' ',
  ),
  ...'的 了 吗 呢 怎么 怎样 如何 什么 多少 有 没有 能 可以 会 是 在 把 给 和 与 或 我 你 一直 哪里 为什么'.split(' '),
])
