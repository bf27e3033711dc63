import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { codes } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import { modules as MODULES } from './layers.json' with { type: 'json' }
import { listFiles, ROOT, readLines } from './repository.ts'

const files = new Set(listFiles(/./))
const lines = readLines('ARCHITECTURE.md')
const GATEWAY = 'packages/gateway/src'
/** The bases of folder names in tables. */
const BASES = ['', `${GATEWAY}/`, 'packages/', 'packages/console/src/', 'packages/sdk/src/']

/** Every row of a table with the files that it names. A bare file name is in the folder of the file named before it. */
const rows = lines
  .filter((line) => line.startsWith('| '))
  .map((line) => {
    let folder = ''
    const named = [...line.matchAll(/`([\w./-]+\.(?:ts|tsx|yml|sql|md))`/g)].map(([, name = '']) => {
      const path = name.replace(/^(contract|lib|wholesalers)\//, 'packages/$1/src/')
      const found = [
        ...(path.includes('/') ? [] : [`${folder}/${path}`]),
        path,
        `${GATEWAY}/${path}`,
        `packages/${path}`,
      ]
      const file = found.find((one) => files.has(one))
      if (file !== undefined) folder = file.slice(0, file.lastIndexOf('/'))
      return { name, file }
    })
    return { line, named }
  })

describe('ARCHITECTURE.md', () => {
  it('names only files that exist', () => {
    const missing = rows.flatMap(({ line, named }) =>
      named.filter(({ file }) => file === undefined).map(({ name }) => `${name} in ${line.slice(0, 60)}`),
    )
    expect(missing).toEqual([])
  })

  it('names only folders that exist', () => {
    const folders = rows.flatMap(({ line }) =>
      [...line.matchAll(/`([\w./-]+)\/`/g)].map(([, name = '']) => name.replace(/^lib\//, 'lib/src/')),
    )
    const missing = folders.filter((name) => !BASES.some((base) => isFolder(base + name)))
    expect(missing).toEqual([])
  })

  it.each(Object.keys(codes))('names a file that contains the code %s', (code) => {
    const about = rows.filter(({ line }) => line.split('|')[1]?.includes(code))
    const deciding = about
      .flatMap(({ named }) => named.flatMap(({ file }) => file ?? []))
      .filter((file) => readLines(file).some((line) => line.includes(`'${code}'`)))
    expect(deciding).not.toEqual([])
  })
})

describe('the tree in ARCHITECTURE.md', () => {
  const tree = readTree()

  it('lists every folder in the gateway', () => {
    const shown = tree.filter((path) => path.startsWith(`${GATEWAY}/`) && path !== `${GATEWAY}/` && path.endsWith('/'))
    expect(shown.sort()).toEqual(foldersBelow(GATEWAY).sort())
  })

  it('lists every package, and only packages that exist', () => {
    const packages = readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/`)
    expect(packages.filter((path) => !tree.includes(path))).toEqual([])
    expect(tree.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })
})

describe('the diagrams in ARCHITECTURE.md', () => {
  const [layers = [], order = []] = readDiagrams()

  it('show the layers in the order in which the boundary check allows imports', () => {
    const shown = layers.flatMap((line) => line.split('-->')).map((name) => name.trim())
    const modules = shown.filter((name, index) => MODULES.includes(name) && shown.indexOf(name) === index)
    expect(modules).toEqual([...MODULES].reverse())
  })

  it('show an order’s path through existing files and imports', () => {
    const arrows = order.filter((line) => line.includes('-->')).flatMap(pairsOf)
    expect(arrows.length).toBeGreaterThan(10)
    const wrong = arrows.filter(([from, to]) => !readLines(fileOf(from)).some((line) => line.includes(`/${to}.ts'`)))
    expect(wrong).toEqual([])
    for (const name of order.flatMap((line) => line.match(/(?<=\.-> )[\w-]+|^ *[\w-]+(?= -\.)/g) ?? []))
      expect(fileOf(name.trim())).toBeDefined()
  })
})

function isFolder(path: string): boolean {
  return [...files].some((file) => file.startsWith(`${path}/`))
}

/** `a --> b --> c` → [a, b], [b, c]. */
function pairsOf(line: string): [string, string][] {
  const names = line.split('-->').map((name) => name.trim())
  return names.slice(1).map((name, index) => [names[index]!, name])
}

/** File names are unique in the modules and in http/dealer. */
function fileOf(name: string): string {
  const found = [...files].filter((file) => file.startsWith(`${GATEWAY}/`) && file.endsWith(`/${name}.ts`))
  expect(found, name).toHaveLength(1)
  return found[0]!
}

function foldersBelow(folder: string): string[] {
  const parents = [...files].filter((file) => file.startsWith(`${folder}/`)).map((file) => file.split('/').slice(0, -1))
  const all = parents.flatMap((parts) => parts.map((_, index) => `${parts.slice(0, index + 1).join('/')}/`))
  // The folders of nouns in cli and http/console are those of the modules.
  const isNoun = (path: string) => /\/src\/(cli|http\/console)\/./.test(path)
  return [...new Set(all)].filter((path) => path.startsWith(`${folder}/`) && path !== `${folder}/` && !isNoun(path))
}

/** The paths of the indented tree: folders end in a slash. */
function readTree(): string[] {
  const start = lines.indexOf('packages/')
  const end = lines.indexOf('```', start)
  const parents: string[] = []
  return lines.slice(start, end).flatMap((line) => {
    const indent = line.search(/\S/)
    const names = line.trim().split(/ {2,}/)[0]!.split(' ')
    if (indent === 0) return names.map((name) => (parents[0] = name))
    const level = indent / 2
    return names.map((name) => {
      const path = `${parents[level - 1]}${name}`
      if (name.endsWith('/')) parents[level] = path
      return path
    })
  })
}

function readDiagrams(): string[][] {
  const starts = lines.flatMap((line, index) => (line === '```mermaid' ? [index + 1] : []))
  return starts.map((start) => lines.slice(start, lines.indexOf('```', start)))
}
