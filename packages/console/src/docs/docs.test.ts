import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { headingId } from '@dealer-esim/gateway/http/public/docs/docs-markdown.ts'
import { partOf } from '@dealer-esim/gateway/http/public/docs/docs-navigation.ts'
import { expect, test } from 'vitest'
import { dealerPage, dealerSections, PAGE_DOCS, pages } from '#page-list.ts'
import { OPERATION_DOCS } from './operation-docs.ts'

const folder = join(import.meta.dirname, '../../../../docs')

test('every page except the “not found” page links to a section of the documentation', () => {
  const paths = [...pages, ...dealerSections.map(({ path }) => ({ path: dealerPage.path + path }))].map(
    ({ path }) => path,
  )
  expect(Object.keys(PAGE_DOCS).sort()).toEqual(paths.filter((path) => path !== '/$').sort())
})

test.each([...Object.entries(PAGE_DOCS), ...Object.entries(OPERATION_DOCS)])(
  'the documentation has a section about %s',
  (_, docs) => {
    const [guide, section] = docs.split('#')
    const headings = readFileSync(join(folder, `${guide}.md`), 'utf8').match(/^#+ .*/gm) ?? []
    const ids = headings.map((heading) => headingId(heading.replace(/^#+ /, '').replaceAll('`', '')))
    if (section !== undefined) expect(ids).toContain(section)
  },
)

test('pages that dealers open link to the part of the documentation that they may read', () => {
  const ofDealers = pages
    .filter(({ mayOpen, path }) => mayOpen === undefined && path in PAGE_DOCS)
    .map(({ path }) => path)
  const paths = [...ofDealers, ...dealerSections.map(({ path }) => dealerPage.path + path)]
  const parts = paths.map((path) => [path, partOf(PAGE_DOCS[path]!.split('#')[0]!)])
  expect(parts.filter(([, part]) => part === 'operators')).toEqual([])
})
