import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { plainDescription } from '@dealer-esim/gateway/platform/config/describe-config.ts'
import { VARIABLES, type Variable } from '@dealer-esim/gateway/platform/config/variables.ts'
import { AGED_BY_CLOCK, DELETED } from '@dealer-esim/gateway/platform/retention/retention-table.ts'
import { describeSupplierType, SUPPLIER_TYPES } from '@dealer-esim/gateway/suppliers/create-supplier.ts'
import { HELD, UNSETTLED } from '@dealer-esim/wholesalers/unsettled.ts'
import { describe, expect, it } from 'vitest'
import { textsForPeople } from './people-texts.ts'
import { listFiles, ROOT } from './repository.ts'

const FOLDER = 'packages/gateway/languages/people/'
/** What composes texts for the console, its API and e-mails. */
const SOURCES =
  /^packages\/(gateway\/src\/.*|lib\/src\/((refusal|schema-faults)|table-files\/.*|outbound\/(outbound|resolve))|contract\/src\/((codes\/codes|text-patterns|money|currencies|activation-code)|requests\/.*))(?<!\.test)\.ts$/
/** Texts for programs, for travellers, for the operator's command line, and of the start. */
const OTHERS =
  /^packages\/gateway\/src\/([a-z-]+\.ts|cli\/|http\/(public|rt|dealer|probes|load-shedding|supplier-api|forward|server|console\/(console-pages|kernel\/console-openapi))|platform\/(config|retention|audit|jobs|package-root|deployment\/peers)|operations\/(setup|trial|backup|recovery\/begin)|cells\/(?!cells-summary)|catalogue\/demo|esims\/languages|alerts\/mail\/(traveller|send|queue)|suppliers\/recording)/

const texts = new Set([
  ...listFiles(SOURCES)
    .filter((path) => !OTHERS.test(path))
    .flatMap((path) => textsForPeople(path, readFileSync(join(ROOT, path), 'utf8'))),
  // What the console's pages of settings and suppliers explain.
  ...Object.values<Variable<unknown>>(VARIABLES).map(plainDescription),
  ...[...AGED_BY_CLOCK, ...DELETED].map(({ what }) => what),
  ...[...Object.values(UNSETTLED), ...Object.values(HELD)].flat(),
  ...SUPPLIER_TYPES.flatMap((type) => labelsOf(describeSupplierType(type).config)),
])

/** The texts of a form, by its JSON Schema. */
function labelsOf(schema: { title?: string; description?: string; properties?: object }): string[] {
  const own = [schema.title, schema.description].filter((text) => text !== undefined)
  return [...own, ...Object.values(schema.properties ?? {}).flatMap(labelsOf)]
}

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort()

it('texts for people are found in the source', () => {
  expect(texts.size).toBeGreaterThan(950)
  for (const text of [
    'Your balance is low: {client}',
    'price plan',
    'no supplier offers it',
    'There is no {what} {name}.',
  ])
    expect(texts).toContain(text)
})

describe.each(listFiles(new RegExp(`^${FOLDER}.*json$`)))('%s', (path) => {
  const translations = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Record<string, string>

  it('translates every text for people, and no other', () => {
    expect([...texts].filter((text) => !Object.hasOwn(translations, text))).toEqual([])
    expect(Object.keys(translations).filter((text) => !texts.has(text))).toEqual([])
  })

  it('keeps the placeholders, and leaves no text in English', () => {
    for (const [english, translation] of Object.entries(translations)) {
      expect([english, placeholders(translation)]).toEqual([english, placeholders(english)])
      if (/\p{Lu}\p{Ll}+ \p{Ll}/u.test(english)) expect(translation).not.toBe(english)
    }
  })
})
