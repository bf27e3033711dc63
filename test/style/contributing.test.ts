import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const pages = ['AGENTS.md', ...readdirSync(join(root, 'contributing')).map((name) => `contributing/${name}`)]
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

test.each(pages)('%s refers only to files, links and scripts that exist', (page) => {
  const text = read(page)
  const files = [...text.matchAll(/\b(?:packages|scripts|test|docs|contributing)\/[\w./-]*\w/g)].map(([file]) => file)
  expect(files.filter((file) => !existsSync(join(root, file)) && !isElsewhere(file))).toEqual([])
  const links = [...text.matchAll(/\]\(([^)#:]+)[^)]*\)/g)].map(([, link = '']) => link)
  expect(links.filter((link) => !existsSync(join(root, dirname(page), link)))).toEqual([])
  const named = [...text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
})

/** Paths within the gateway's package, as its tests write them. */
function isElsewhere(file: string): boolean {
  return existsSync(join(root, 'packages/gateway', file))
}
