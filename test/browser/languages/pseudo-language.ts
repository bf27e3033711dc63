import en from '@dealer-esim/console/strings/en.json'
import { SNIPPETS } from '@dealer-esim/console/tenants/explorer/snippets.ts'
import { operationNames } from '@dealer-esim/contract'
import type { Page } from 'playwright-core'
import { addLoading, type WithAnswers } from './page-loading.ts'

/*
 * A pseudo-language: every text of the English files between two characters that nobody sees and Playwright ignores, so that
 * buttons are found by their names. What is shown without them does not come from the files. The gateway answers in Chinese and the
 * browser writes dates, durations and countries in it, so what is in Latin letters and is not data is text that no language has.
 */

/** The only two characters that Playwright removes from names: a zero-width space and a soft hyphen. */
const BEGIN = '\u200b'
const END = '\u00ad'
const LANGUAGE = 'zh-Hans'

type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

export interface PseudoLanguage {
  page: Page
  /** Keeps what was shown, even for a moment, and what the gateway has answered. Another page that is loaded no longer has it. */
  collect(): Promise<void>
  /** Every text that was kept since the last call and is neither from the files nor data. */
  untranslatedTexts(): string[]
}

/** Makes a page that is not loaded yet show the pseudo-language. */
export async function usePseudoLanguage(page: Page): Promise<PseudoLanguage> {
  await page.route('**/assets/en-*.js', async (route) => {
    const script = await (await route.fetch()).text()
    const file = (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as { [name: string]: Json }
    const lines = Object.entries(file).map(([name, texts]) => `export const ${name} = ${JSON.stringify(marked(texts))}`)
    await route.fulfill({ contentType: 'text/javascript', body: lines.join('\n') })
  })
  await page.route(API, (route) =>
    route.continue({ headers: { ...route.request().headers(), 'accept-language': LANGUAGE } }),
  )
  await page.addInitScript(formatIn, LANGUAGE)
  await addLoading(page)
  await page.addInitScript(collectTexts)
  const shown = new Set<string>()
  const data = new Set<string>()
  return {
    page,
    async collect() {
      const { texts, answers } = await page.evaluate(() => {
        const { shownTexts, answers } = globalThis as unknown as WithTexts & WithAnswers
        const texts = [...shownTexts, document.title]
        shownTexts.clear()
        return { texts, answers: answers.splice(0) }
      })
      for (const text of texts) shown.add(text)
      for (const answer of answers) for (const text of dataOf(answer)) data.add(text)
    },
    untranslatedTexts() {
      const texts = [...shown]
      shown.clear()
      return texts.filter((text) => !partsOutside(text).every((part) => isData(part, data)))
    },
  }
}

/** The console's API, also in test mode. */
export const API = /\/console\/api\//

/**
 * Marks a text, a file, or a packed message (packages/console/src/strings/packed-message.ts): of a message only its own words, because a
 * value may come from elsewhere. A text with names between backticks is shown in parts, so each part is marked.
 */
function marked(texts: Json): Json {
  if (typeof texts === 'string')
    return texts
      .split('`')
      .map((part) => BEGIN + part + END)
      .join('`')
  if (Array.isArray(texts)) return texts.map((part) => (Array.isArray(part) ? markedForms(part) : marked(part)))
  if (typeof texts !== 'object' || texts === null) return texts
  const { type, children } = texts
  if (typeof type === 'number') return { ...texts, ...(children && { children: marked(children) }) }
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, marked(text)]))
}

/** A placeholder: its name, and the forms of a plural. */
function markedForms([name, ...forms]: Json[]): Json {
  return [name ?? null, ...forms.map(marked)]
}

function partsOutside(text: string): string[] {
  return text.split(new RegExp(`${BEGIN}[^${BEGIN}${END}]*${END}`))
}

/**
 * The only place that says what is data: what the gateway has answered unless it is a sentence in English, and the words below. What is
 * not in Latin letters was translated by the gateway, or written by the browser.
 */
function isData(part: string, answered: ReadonlySet<string>): boolean {
  const text = bare(part)
  if (!hasWords(text) || answered.has(text) || NAMES.has(text)) return true
  // Also in this order, because a name that was answered may contain a unit.
  return (
    !hasWords(withoutUniversal(withoutAnswers(part, answered))) ||
    !hasWords(withoutAnswers(withoutUniversal(part), answered))
  )
}

const withoutUniversal = (text: string) =>
  UNIVERSAL.reduce((left, pattern) => left.replaceAll(pattern, ' '), text.trim())

const hasWords = (text: string) => /\p{Script=Latin}{2}/u.test(text)

/** Without what separates it from its neighbours. */
const bare = (text: string) => text.replace(/^[\s:,·]+/, '').replace(/[\s:,·]+$/, '')

/** Names that programs read, and those of programming languages. */
const NAMES: ReadonlySet<string> = new Set([
  ...operationNames,
  ...Object.keys(en.catalogue.columnMeanings),
  ...Object.values(SNIPPETS).map(({ name }) => name),
])

/** The same in every language. */
const UNIVERSAL = [
  // The parts of a package's title: `Japan · 5 GB · 3 days`.
  /(?<=^|, )\p{Lu}[\p{L} ’'-]*(?= · ?(\d|$))|· ([\d.]+ [KMGT]B(\/day)?|\d+ days?|top-up)/gu,
  // The samples of the page of parts, the browser of a session, languages, which are named in themselves, and files.
  /\b(Lotus Travel|Chrome · Linux|English|eSIM console|[\w-]+\.(csv|txt|json))\b/g,
  // Time zones.
  /\b(Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific)(\/[\w+-]+)+/g,
  // What was typed, and what is to be typed.
  /\S+@\S+|\{\w+\}/g,
  // What the sandbox says, which is a supplier.
  /\b[a-z ]+ the sandbox, as the product code requests\b/gi,
  // Currencies, units, formats, and initials.
  /\b\p{Lu}{2,4}\b/gu,
]

function withoutAnswers(text: string, answered: ReadonlySet<string>): string {
  const parts = [...answered].filter((answer) => answer.length > 2 && text.includes(answer))
  return parts.sort((a, b) => b.length - a.length).reduce((rest, part) => rest.replaceAll(part, ' '), text)
}

/** The texts of an answer, each also in the parts that are shown as code, between backticks, and those between them. */
function dataOf(answer: string): string[] {
  const texts = stringsOf(parsed(answer)).filter((text) => hasWords(text) && !IS_SENTENCE.test(text))
  return texts.flatMap((text) => [text, ...text.split('`')].map(bare))
}

function parsed(answer: string): Json {
  try {
    return JSON.parse(answer) as Json
  } catch {
    return null // a file
  }
}

const IS_SENTENCE = /^\p{Lu}[^\p{Script=Han}]* [^\p{Script=Han}]* [^\p{Script=Han}]*\.$/u

function stringsOf(answer: Json): string[] {
  if (typeof answer === 'string') return [answer]
  if (typeof answer !== 'object' || answer === null) return []
  return Object.values(answer).flatMap(stringsOf)
}

/** In the page: what the browser itself writes is in a language, too. */
function formatIn(language: string): void {
  for (const name of ['DateTimeFormat', 'NumberFormat', 'RelativeTimeFormat', 'DisplayNames'] as const) {
    const Original = Intl[name] as new (locale: unknown, options: unknown) => object
    // Works with and without `new`, as the original does.
    function InLanguage(locale: unknown, options: unknown) {
      return new Original(String(locale) === navigator.language ? language : locale, options)
    }
    Object.setPrototypeOf(InLanguage, Original)
    Object.assign(Intl, { [name]: InLanguage })
  }
}

interface WithTexts {
  shownTexts: Set<string>
}

/** In the page: collects every text that is shown, visibly or to screen readers, also one that disappears again. */
function collectTexts(): void {
  const shownTexts = new Set<string>()
  Object.assign(globalThis, { shownTexts })
  const ATTRIBUTES = ['aria-label', 'aria-description', 'placeholder', 'title', 'alt']
  const isShown = (element: Element | null) => !element?.closest('head, script, style, pre, code, textarea')
  const collect = (text: string | null) => text && /\p{L}{2}/u.test(text) && shownTexts.add(text)
  function look(node: Node): void {
    if (node instanceof Text && isShown(node.parentElement)) collect(node.textContent)
    if (!(node instanceof Element) || !isShown(node)) return
    for (const name of ATTRIBUTES) collect(node.getAttribute(name))
    for (const child of node.childNodes) look(child)
  }
  new MutationObserver((changes) => {
    for (const { type, target, addedNodes } of changes)
      for (const node of type === 'childList' ? addedNodes : [target]) look(node)
  }).observe(document, { subtree: true, childList: true, characterData: true, attributeFilter: ATTRIBUTES })
}
