import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { codesMarkdown } from './codes-markdown.ts'

test('docs/codes.md matches the code table (`npm run codes` generates it)', () => {
  const written = readFileSync(new URL('../../../../docs/codes.md', import.meta.url), 'utf8')
  expect(written).toBe(codesMarkdown())
})
