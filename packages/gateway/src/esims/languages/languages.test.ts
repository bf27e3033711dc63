import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { chooseLanguage } from './choose-language.ts'
import { TEXT_NAMES, TEXTS } from './texts.ts'
import { countriesText, getLanguages, placeholdersOf, withTexts } from './traveller-language.ts'
import { type PackageFacts, packageTitle, titleText } from './traveller-title.ts'

const languages = getLanguages()
const TAGS = 'en zh-Hans zh-Hant ja ko es pt-BR fr de it nl pl ru uk tr vi th id hi ar he'.split(' ')
const GIGABYTE = 1_000_000_000n
const FACTS: PackageFacts = {
  ...{ dataType: 'TOTAL', volume: 5n * GIGABYTE, days: 3, activationPolicy: 'ON_INSTALL', locations: ['JP'] },
}

it('there are twenty-one languages, in the order of the menu', () => {
  expect([...languages.keys()]).toEqual(TAGS)
  expect([...languages.values()].filter(({ direction }) => direction === 'rtl').map(({ tag }) => tag)).toEqual([
    'ar',
    'he',
  ])
})

describe.each([...languages.values()])('the file of $ownName', (language) => {
  const content = JSON.parse(readFileSync(join(packageRoot(), 'languages', `${language.tag}.json`), 'utf8'))

  it('has every text and no other, with its placeholders', () => {
    expect(Object.keys(content).sort()).toEqual([...TEXT_NAMES, 'countries'].sort())
    for (const name of TEXT_NAMES)
      expect([name, placeholdersOf(content[name])]).toEqual([name, [...TEXTS[name]].sort()])
  })

  it('has no text of English, and no markup', () => {
    const english = languages.get('en')!.texts
    const same = TEXT_NAMES.filter((name) => language.tag !== 'en' && language.texts[name] === english[name])
    expect(same).toEqual([])
    for (const name of TEXT_NAMES) expect(language.texts[name]).not.toMatch(/[<>\n]|^\s|\s$/)
  })

  it('has the plural forms that the language needs', () => {
    const { pluralCategories } = new Intl.PluralRules(language.tag).resolvedOptions()
    expect(Object.keys(language.countries).sort()).toEqual([...pluralCategories].sort())
    for (const count of [0, 1, 2, 3, 5, 11, 21, 33, 100, 1_000_000])
      expect(countriesText(language, count)).toContain(new Intl.NumberFormat(language.tag).format(count))
  })
})

it('a brand replaces texts in every language or in one, but never loses what a placeholder says', () => {
  const replaced = { restart: 'Turn it off and on.', 'de.restart': 'Aus- und einschalten.', help: 'Help', unknown: 'x' }
  const texts = (tag: string) => withTexts(languages.get(tag)!, replaced).texts
  expect([texts('en').restart, texts('de').restart]).toEqual(['Turn it off and on.', 'Aus- und einschalten.'])
  expect(texts('en').help).toBe('Help from {seller}')
  expect(withTexts(languages.get('en')!, undefined)).toBe(languages.get('en'))
})

describe('the language', () => {
  const choose = (sources: Parameters<typeof chooseLanguage>[1]) => chooseLanguage(languages, sources).tag

  it('is what the reader chose, else that of the hand-over, the browser’s, the brand’s, or English', () => {
    const all = { chosen: 'ja', handOver: 'de', acceptLanguage: 'fr', brand: 'it' }
    expect(choose(all)).toBe('ja')
    expect(choose({ ...all, chosen: undefined })).toBe('de')
    expect(choose({ ...all, chosen: undefined, handOver: null })).toBe('fr')
    expect(choose({ acceptLanguage: undefined, brand: 'it' })).toBe('it')
    expect(choose({})).toBe('en')
  })

  it.each([
    ['zh-TW', 'zh-Hant'],
    ['zh-HK', 'zh-Hant'],
    ['zh', 'zh-Hans'],
    ['zh-yue-HK', 'zh-Hant'],
    ['pt-PT', 'pt-BR'],
    ['de-AT', 'de'],
    ['iw', 'he'],
    ['DE_de', 'en'],
    ['sw, ko;q=0.5', 'ko'],
    ['fr;q=0.2, de;q=0.9', 'de'],
    ['fr;q=0, *', 'en'],
    ['x-dealer', 'en'],
    ['uz-Cyrl', 'en'],
    [';;,=q', 'en'],
    [`${'a,'.repeat(5_000)}de`, 'en'],
  ])('of a browser that accepts %s is %s', (acceptLanguage, expected) => {
    expect(choose({ acceptLanguage })).toBe(expected)
  })
})

describe('a package’s title', () => {
  const title = (tag: string, name: string, facts: PackageFacts | null = FACTS) =>
    titleText(languages.get(tag)!, packageTitle(languages.get(tag)!, name, facts))
      .replaceAll(/\s/g, ' ')
      .replaceAll(/[\u2068\u2069]/g, '')
  const many = (...locations: string[]) => ({ ...FACTS, locations })

  it.each([
    ['en', 'Japan · 5 GB · 3 days'],
    ['ja', '日本 · 5 GB · 3 日'],
    ['ar', 'اليابان · 5 غيغابايت · 3 أيام'],
    ['fr', 'Japon · 5 Go · 3 jours'],
    ['ru', 'Япония · 5 ГБ · 3 дня'],
  ])('is composed in %s from its data', (tag, expected) => {
    for (const name of ['Japan 5 GB 3 days', 'Japan, 5 GB, 3 days', 'Japan 5GB 3 days'])
      expect(title(tag, name)).toBe(expected)
  })

  it.each([
    ['Europe 5 GB 3 days', many('DE', 'FR', '!RG'), 'Europa · 5 GB · 3 Tage'],
    ['Global 5 GB 3 days', many('!GL'), 'Welt · 5 GB · 3 Tage'],
    ['2 countries 5 GB 3 days', many('DE', 'FR'), '2 Länder · 5 GB · 3 Tage'],
    ['Hong Kong 5 GB 3 days', many('HK'), 'Hongkong · 5 GB · 3 Tage'],
    ['Japan unlimited 3 days', { ...FACTS, dataType: 'UNLIMITED', volume: null }, 'Japan · Unbegrenzt · 3 Tage'],
    ['Japan 5 GB/day', { ...FACTS, dataType: 'DAILY' }, 'Japan · 5 GB pro Tag · 3 Tage'],
  ] as const)('of “%s” is composed', (name, facts, expected) => {
    expect(title('de', name, facts as PackageFacts)).toBe(expected)
  })

  it.each(['Tokyo Business Pass', 'Korea 5 GB 3 days', 'Japan 9 GB 3 days', 'Japan 5 GB 3 days with calls', 'Japan'])(
    'that says something else is the operator’s own, and stays: %s',
    (name) =>
      expect(title('de', name === 'Japan' ? 'Japan Special' : name)).toBe(name === 'Japan' ? 'Japan Special' : name),
  )

  it('of a package that left the catalogue is its name at the time of the order', () => {
    expect(title('de', 'Japan 5 GB 3 days', null)).toBe('Japan 5 GB 3 days')
  })
})
