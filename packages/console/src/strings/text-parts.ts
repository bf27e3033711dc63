import type en from './en.json'

/**
 * All texts of the console. A language is a JSON file in this folder, named after its BCP 47 tag, with the members of en.json. A text with
 * values is an ICU message, such as `{count, plural, one {# order} other {# orders}} of {dealer}`, and is shown by `formatMessage`.
 */
export type Strings = typeof en

/**
 * The texts of pages that few people open first: two fifths of all. The build makes a file of them (`en.json?pages.json`), so that a first visit
 * does not load it. The names after a section are those that other pages show too, such as the navigation: they are in both files.
 */
const PAGE_SECTIONS = {
  audit: ['title'],
  books: ['title'],
  brands: ['title', 'dealerTitle', 'sendUnder'],
  debugger: ['title'],
  design: [],
  endpoint: ['title', 'states'],
  exchangeRates: [],
  explorer: ['title'],
  operatorSettings: ['title'],
  package: ['add'],
  payments: ['title'],
  people: ['title', 'name'],
  prices: ['title', 'tabs'],
  products: ['title'],
  recovery: ['title'],
  restrictedKeys: [],
  rulePreview: [],
  saleRules: ['title', 'add'],
  settings: ['title', 'creditLimit'],
  stock: ['title'],
  supplierReports: [],
  suppliers: ['title', 'add'],
} as const satisfies { [Section in keyof Strings]?: readonly (keyof Strings[Section])[] }

type PageSection = keyof typeof PAGE_SECTIONS
export type PageTexts = Pick<Strings, PageSection>
export type StartTexts = Omit<Strings, PageSection> & {
  [Section in PageSection]: Pick<Strings[Section], (typeof PAGE_SECTIONS)[Section][number] & keyof Strings[Section]>
}

/** What is loaded with the console: everything but the texts that only their own pages show. */
export function startTextsOf(texts: Strings): StartTexts {
  const kept = Object.entries(texts).map(([section, all]) => [section, pick(all, sharedNames(section))])
  return Object.fromEntries(kept) as unknown as StartTexts
}

/** What such a page loads in addition. */
export function pageTextsOf(texts: Strings): PageTexts {
  return pick(texts, Object.keys(PAGE_SECTIONS)) as unknown as PageTexts
}

function sharedNames(section: string): readonly string[] | undefined {
  return (PAGE_SECTIONS as Record<string, readonly string[]>)[section]
}

/** @param names undefined: all */
function pick(all: object, names?: readonly string[]): object {
  return names === undefined ? all : Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
}
