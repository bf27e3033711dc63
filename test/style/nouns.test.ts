import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles, ROOT, readLines } from './repository.ts'

/** Every feature has one of these names in each tree: its module, its routes, its commands and its pages. */
const NOUNS = [
  ...['tenants', 'wallet', 'catalogue', 'prices', 'products', 'suppliers', 'stock', 'orders', 'esims', 'webhooks'],
  ...['sales', 'people', 'alerts', 'brands', 'cells', 'operations'],
]

/** The trees with a folder per noun (or a file, for a small noun), and their other contents. */
const TREES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'packages/gateway/src/http/console': {
    kernel: 'what all routes share: access, lists, CSV',
    home: 'the dashboard, search and guided start show parts of every noun',
  },
  'packages/gateway/src/cli': { kernel: 'what all commands share: context, options, output' },
  'packages/console/src': {
    home: 'the dashboard and guided start show parts of every noun',
    layout: 'navigation, search and keys around every page',
    design: 'tokens, and what records share',
    lists: 'what all lists share',
    parts: 'what all pages share',
    api: 'calls of the console API',
    code: 'code and prose of documentation in pages',
    docs: 'links to the documentation',
    strings: 'texts',
  },
}

/** Modules of the gateway whose names are not nouns. */
const OTHER_MODULES: Readonly<Record<string, string>> = {
  http: 'the APIs',
  cli: 'the commands of all nouns',
  fulfilment: 'carries out orders: a module above esims, because it delivers them',
  platform: 'runs the process and knows no order',
}

/** Files beside the folders of a tree: its entry, and its parts. */
const TREE_FILES = new Set([
  ...['console', 'console-routes', 'console-server', 'console-pages'],
  ...['admin-main', 'admin-program'],
  ...['main', 'router', 'page-list', 'vite-env'],
])

const sources = listFiles(/^packages\/[^/]+\/src\/.*\.(tsx?|mjs)$/).filter((path) => !/\.test\.tsx?$/.test(path))

describe('a folder', () => {
  it.each(Object.entries(TREES))('in %s is named with a noun, or has a stated reason', (tree, reasons) => {
    const names = childrenOf(tree, 'folder')
    expect(names.filter((name) => !NOUNS.includes(name) && reasons[name] === undefined)).toEqual([])
    expect(Object.keys(reasons).filter((name) => !names.includes(name))).toEqual([])
  })

  it('in the gateway is named with a noun or has a stated reason, and every noun has a module', () => {
    const names = childrenOf('packages/gateway/src', 'folder')
    expect(names.filter((name) => !NOUNS.includes(name) && OTHER_MODULES[name] === undefined)).toEqual([])
    expect(names.length).toBeLessThanOrEqual(20)
    expect(NOUNS.filter((noun) => !names.includes(noun))).toEqual(['prices'])
    expect(childrenOf('packages/gateway/src/catalogue', 'folder')).toContain('prices')
  })

  it.each(Object.keys(TREES))('in %s may instead be a file whose name begins with its noun', (tree) => {
    const names = childrenOf(tree, 'file').map(stemOf)
    expect(names.filter((name) => !TREE_FILES.has(name) && nounOfFile(name) === undefined)).toEqual([])
  })
})

describe('a wholesaler', () => {
  /** Any other file needs a name that the other trees use too, or a reason. */
  const ALSO: Readonly<Record<string, string>> = {
    'purchase.ts': 'buys in several steps',
    'progress.ts': 'stores the step that a purchase has reached',
    'reports.ts': 'asks about one eSIM',
    'actions.ts': 'cancels, suspends and revokes',
    'find.ts': 'searches orders without a look-up by our key',
    'products.ts': 'decodes a catalogue whose prices have rules of their own',
    'token.ts': 'shares an access token between nodes',
  }

  it.each(['airalo', 'esim-access', 'esim-go', 'mobimatter', 'zendit'])(
    '%s has the same five files as the others',
    (name) => {
      const files = childrenOf(`packages/wholesalers/src/${name}`, 'file')
      const five = [`${name}.ts`, 'client.ts', 'decode.ts', 'outcome.ts', 'lists.ts']
      expect(five.filter((file) => !files.includes(file))).toEqual([])
      expect(files.filter((file) => !five.includes(file) && ALSO[file] === undefined)).toEqual([])
    },
  )
})

describe('an import', () => {
  it('goes up at most one folder', () => {
    const code = listFiles(/^(packages|bench|test|scripts)\/.*\.(tsx?|mts|mjs)$/).filter(
      (path) => !/\/bin\//.test(path),
    )
    const up = code.flatMap((path) =>
      readLines(path)
        .filter((line) => IMPORT_FROM_AFAR.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    )
    expect(up).toEqual([])
  })
})

/** Test vectors are JSON that programs in other languages read too. */
const IMPORT_FROM_AFAR = /(\bfrom |\bimport\(?\s*)'(\.\.\/){2,}(?!.*vectors\/\w+\.json')/

describe('a file name', () => {
  /** Names of files that each wholesaler and each simulator has. */
  const EQUAL_NAMES = new Set(['wholesalers', 'wholesaler-simulators'])

  it('occurs only once within each tree', () => {
    const twice = [...groupBy(sources, (path) => `${treeOf(path)} ${stemOf(path)}`).values()].filter(
      ([first = '', ...others]) => others.length > 0 && !EQUAL_NAMES.has(treeOf(first)),
    )
    expect(twice).toEqual([])
  })

  it('stands for the same noun in several trees', () => {
    // contract and sdk follow the subjects of the API; a name that is a noun occurs in every tree.
    const ours = sources.filter((path) => !['contract', 'sdk'].includes(treeOf(path)))
    const differing = [...groupBy(ours, stemOf)].filter(([name, paths]) => {
      const places = new Set(paths.map((path) => nounOf(path) ?? treeOf(path)))
      const isShared = NOUNS.includes(name) || NOUNS.includes(`${name}s`) || name === 'main'
      return places.size > 1 && !isShared && !paths.every((path) => treeOf(path).startsWith('wholesaler'))
    })
    expect(differing.map(([, paths]) => paths)).toEqual([])
  })
})

describe('a unit test', () => {
  it('for a single file is named after that file and placed next to it', () => {
    const tests = listFiles(/^packages\/[^/]+\/src\/.*\.test\.tsx?$/)
    const misnamed = tests.filter((path) => {
      const imported = readLines(path).flatMap((line) => /\bfrom '([.#][^']+)'/.exec(line)?.[1] ?? [])
      const [tested = '', ...others] = new Set(imported.filter((name) => !name.startsWith('#test/')))
      const isOfOne = tested.startsWith('.') && others.length === 0 && existsSync(join(ROOT, dirname(path), tested))
      const stem = path.replace(/\.test\.tsx?$/, '')
      return isOfOne && !sources.includes(`${stem}.ts`) && !sources.includes(`${stem}.tsx`)
    })
    expect(misnamed).toEqual([])
  })
})

function childrenOf(folder: string, kind: 'file' | 'folder'): string[] {
  const below = sources.filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1))
  const names = below.filter((path) => path.includes('/') === (kind === 'folder')).map((path) => path.split('/')[0]!)
  return [...new Set(names)]
}

function stemOf(path: string): string {
  return basename(path).replace(/(\.d)?\.(tsx?|mjs)$/, '')
}

/** The trees of the gateway, and other packages. */
function treeOf(path: string): string {
  const [, name = '', rest = ''] = /^packages\/([^/]+)\/src\/(.*)$/.exec(path) ?? []
  if (name !== 'gateway') return name
  return /^(http\/console|http|cli)\//.exec(rest)?.[1] ?? 'modules'
}

/** The noun of a file's folder or, if the noun is a file, of its name; undefined if it has none. */
function nounOf(path: string): string | undefined {
  const parts = path
    .replace(/^packages\/[^/]+\/src\/(http\/console\/|cli\/)?/, '')
    .replace('catalogue/prices/', 'prices/')
    .replace(/^fulfilment\//, 'orders/')
    .split('/')
  if (parts.length === 1) return nounOfFile(stemOf(path))
  return NOUNS.includes(parts[0]!) || parts[0] === 'home' ? parts[0] : undefined
}

/** `stock-batch` belongs to stock, `webhook-replays` to webhooks. */
function nounOfFile(stem: string): string | undefined {
  return NOUNS.find(
    (noun) => stem === noun || stem.startsWith(`${noun}-`) || stem.startsWith(`${noun.replace(/s$/, '')}-`),
  )
}

function groupBy(paths: readonly string[], keyOf: (path: string) => string): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const path of paths) groups.set(keyOf(path), [...(groups.get(keyOf(path)) ?? []), path])
  return groups
}
