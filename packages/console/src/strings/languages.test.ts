import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser'
import { expect, it } from 'vitest'

type Texts = { [name: string]: string | Texts }

const tags = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -'.json'.length))
const english = textsOf('en')
const others = tags.filter((tag) => tag !== 'en')

it.each(tags)('every text of %s with values is an ICU message', (tag) => {
  expect(textsOf(tag).size).toBeGreaterThan(1_000)
  expect([...textsOf(tag)].flatMap(([path, text]) => faultsOf(path, text))).toEqual([])
})

it.each(others)('%s has a translation of each English text, and no other text', (tag) => {
  expect([...textsOf(tag).keys()]).toEqual([...english.keys()])
})

it.each(others)('each text of %s has the placeholders of the English one', (tag) => {
  const differing = [...textsOf(tag)].filter(
    ([path, text]) => !equal(placeholders(text), placeholders(english.get(path))),
  )
  expect(differing).toEqual([])
})

// `formatMessage`, the only function that formats them, throws at a tag.
it('no text has tags', () => {
  expect([...english].filter(([, text]) => placeholders(text).some((name) => name.startsWith('<')))).toEqual([])
})

it.each(tags)('each plural of %s has the forms that the language distinguishes', (tag) => {
  const forms = new Intl.PluralRules(tag).resolvedOptions().pluralCategories.toSorted()
  const plurals = [...textsOf(tag)].flatMap(([path, text]) =>
    elementsOf(parsed(text))
      .filter((element) => element.type === TYPE.plural)
      .map((element) => [path, Object.keys(element.options).toSorted()]),
  )
  expect(plurals.filter(([, found]) => !equal(found, forms))).toEqual([])
})

// A language with one form, such as Chinese, may write `{count, number}` instead.
it.each(others)('%s has a plural wherever English has one, if the language has several forms', (tag) => {
  if (new Intl.PluralRules(tag).resolvedOptions().pluralCategories.length === 1) return
  const without = [...english].filter(([path, text]) => hasPlural(text) && !hasPlural(textsOf(tag).get(path) ?? ''))
  expect(without).toEqual([])
})

it('a missing translation, a lost placeholder and a wrong plural form are found', () => {
  expect(placeholders('{count, plural, one {# order of {dealer}} other {# orders of {dealer}}}')).toEqual([
    'count',
    'dealer',
  ])
  expect(placeholders('<b>{count, number}</b>')).toEqual(['<b>', 'count'])
  expect(faultsOf('a.b', '{count, plural, one {# order}}')).toEqual([
    expect.stringMatching(/^a\.b: MISSING_OTHER_CLAUSE/),
  ])
})

/** The texts of a language by their paths, e.g. `orders.title`. */
function textsOf(tag: string): Map<string, string> {
  const file = JSON.parse(readFileSync(join(import.meta.dirname, `${tag}.json`), 'utf8')) as Texts
  const texts = new Map<string, string>()
  const read = (branch: Texts, at: string) => {
    for (const [name, text] of Object.entries(branch))
      if (typeof text === 'string') texts.set(at + name, text)
      else read(text, `${at}${name}.`)
  }
  read(file, '')
  return texts
}

function faultsOf(path: string, text: string): string[] {
  if (!text.includes('{')) return []
  try {
    parse(text)
    return []
  } catch (error) {
    return [`${path}: ${(error as Error).message}`]
  }
}

/** A text without values is shown as it is. */
function parsed(text: string): MessageFormatElement[] {
  return text.includes('{') ? parse(text) : []
}

/** All elements of a message, those in plural forms and tags included. */
function elementsOf(message: MessageFormatElement[]): MessageFormatElement[] {
  return message.flatMap((element) => {
    if (element.type === TYPE.tag) return [element, ...elementsOf(element.children)]
    if (element.type !== TYPE.plural && element.type !== TYPE.select) return [element]
    return [element, ...Object.values(element.options).flatMap(({ value }) => elementsOf(value))]
  })
}

/** The names of values, sorted, tags as `<b>`. */
function placeholders(text = ''): string[] {
  const names = elementsOf(parsed(text)).flatMap((element) => {
    if (element.type === TYPE.literal || element.type === TYPE.pound) return []
    return element.type === TYPE.tag ? [`<${element.value}>`] : [element.value]
  })
  return [...new Set(names)].toSorted()
}

function hasPlural(text: string): boolean {
  return elementsOf(parsed(text)).some(({ type }) => type === TYPE.plural)
}

function equal(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}
