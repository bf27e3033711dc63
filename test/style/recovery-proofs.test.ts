import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listFiles, ROOT } from './repository.ts'

/* docs/recovery.md says what may repeat after a restore, and names the test that proves each row. */

const page = readFileSync(join(ROOT, 'docs/recovery.md'), 'utf8')
const section = page.slice(page.indexOf('### What may repeat'), page.indexOf('### Cells'))
const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| what |'))
const tests = listFiles(/^packages\/gateway\/test\/.*(recovery|restored).*\.test\.ts$/)
  .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  .join('\n')

test('each row about what may repeat names a test', () => {
  expect(rows.length).toBeGreaterThanOrEqual(5)
})

test.each(rows)('%s', (row) => {
  const [, proof] = /`([^`|]+)` \|$/.exec(row) ?? []
  expect(tests).toContain(`test('${proof}'`)
})
