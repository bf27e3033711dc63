import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '@dealer-esim/gateway/platform/package-root.ts'
import { expect, test } from 'vitest'
import { routesMarkdown } from '../scripts/generate/routes-markdown.ts'

test('packages/gateway/routes.md lists every route as declared', async () => {
  expect(readFileSync(join(packageRoot(), 'routes.md'), 'utf8')).toBe(await routesMarkdown())
})

test('every route declares who may call it', async () => {
  const rows = (await routesMarkdown())
    .split('\n')
    .filter((line) => /^\| (GET|POST|PUT|PATCH|DELETE|HEAD) \|/.test(line))
  expect(rows.length).toBeGreaterThan(150)
  expect(rows.filter((line) => line.split('|')[3]?.trim() === '')).toEqual([])
})
