import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chineseCodesMarkdown, codesMarkdown } from './codes-markdown.ts'

test('docs/codes.md matches the code table (`npm run codes` generates it)', () => {
  const written = readFileSync(new URL('../../../../docs/codes.md', import.meta.url), 'utf8')
  expect(written).toBe(codesMarkdown())
})

test('docs/zh-Hans/codes.md matches the code table and its Chinese texts, which are complete', () => {
  const read = (path: string) => readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), 'utf8')
  const texts = JSON.parse(read('site/codes.zh-Hans.json'))
  expect(read('zh-Hans/codes.md').replace(/^<!--.*-->\n\n/, '')).toBe(chineseCodesMarkdown(texts))
  expect(Object.keys(texts).length).toBe(codesMarkdown().match(/^## /gm)?.length)
})
