import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { roundNumbers } from '../packages/console/light-flags.ts'
import { root } from './local-gateway.ts'

const SCRIPT_SIZE_MAX_BYTES = 241_000
const built = join(root, 'packages/console/dist')

interface Chunk {
  file: string
  isEntry?: boolean
  imports?: string[]
}

let chunks: Record<string, Chunk>
beforeAll(() => {
  execFileSync(process.execPath, [join(root, 'scripts/build.mjs'), 'console'], { stdio: 'pipe' })
  chunks = JSON.parse(readFileSync(join(built, '.vite/manifest.json'), 'utf8'))
})

/** A chunk and the chunks that it imports statically. */
function staticImports(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const next of chunks[name]?.imports ?? []) staticImports(next, found)
  return found
}

it('the console’s first page loads at most 241 kB of compressed script, including dashboard plots', () => {
  const entry = Object.keys(chunks).find((name) => chunks[name]?.isEntry) ?? ''
  const loaded = new Set([...staticImports(entry), ...staticImports('src/home/dashboard.tsx')])
  expect(chunks).toHaveProperty(['src/home/dashboard.tsx'])
  const files = new Set([...loaded].map((name) => join(built, chunks[name]!.file)))
  const sizes = [...files].map((file) => statSync(existsSync(`${file}.br`) ? `${file}.br` : file).size)
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  console.log(`first load: ${sizes.length} scripts, ${(bytes / 1000).toFixed(1)} kB compressed`)
  expect(bytes).toBeGreaterThan(100_000)
  expect(bytes).toBeLessThan(SCRIPT_SIZE_MAX_BYTES)
})

it('the pages that people open first load no texts of other pages', () => {
  const entry = Object.keys(chunks).find((name) => chunks[name]?.isEntry) ?? ''
  const texts = Object.keys(chunks).find((name) => chunks[name]?.file.includes('/en-pages-')) ?? ''
  expect([...staticImports('src/operations/audit-log.tsx')]).toContain(texts)
  for (const page of FIRST_PAGES)
    expect([page, ...staticImports(entry), ...staticImports('src/router.tsx'), ...staticImports(page)]).not.toContain(
      texts,
    )
})

const FIRST_PAGES = ['home/dashboard', 'orders/orders', 'esims/esims', 'catalogue/catalogue', 'sales/sales'].map(
  (name) => `src/${name}.tsx`,
)

it('numbers of a flag’s path are rounded and stay apart', () => {
  expect(roundNumbers('m47.8 138.9-4-12.8H26.2l.4.5')).toBe('m48 139-4-13H26l0 1')
  expect(roundNumbers('M12.8-.3 4.6')).toBe('M13 0 5')
  expect(roundNumbers('M0 0h513v342H0z')).toBe('M0 0h513v342H0z')
})
