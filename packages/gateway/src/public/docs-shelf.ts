import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../lib/process/package-root.ts'

/**
 * What is served under /docs, by its address without that prefix: `quick-start` is docs/quick-start.md. The table is
 * made once from the checkout, so that no address of a request ever becomes a path of the file system.
 */
export interface Shelf {
  /** Markdown, by address. */
  pages: ReadonlyMap<string, Source>
  /** Served as they are: samples, vectors and pictures. */
  files: ReadonlyMap<string, Source>
  /** The address of a file, by its path in the checkout. */
  addressOf(path: string): string | undefined
}

export interface Source {
  /** In the checkout, with slashes: `docs/quick-start.md`. */
  path: string
  /** On this machine. */
  file: string
}

/** Documents that live beside what they describe. */
const ELSEWHERE = {
  pages: { changelog: 'CHANGELOG.md', sdk: 'packages/sdk/README.md' },
  files: { 'vectors.json': 'test/vectors/signing.json' },
}

export function checkout(): string {
  return join(packageRoot(), '../..')
}

export function fillShelf(root = checkout()): Shelf {
  const pages = new Map<string, Source>()
  const files = new Map<string, Source>()
  for (const path of filesUnder(root, 'docs')) {
    const source = { path, file: join(root, path) }
    const address = path.slice('docs/'.length)
    if (path.endsWith('.md')) pages.set(address.replace(/(?:^|(?<=\/))(?:index|README)\.md$|\.md$/, ''), source)
    else if (/^docs\/(samples\/|images\/.*\.png$)/.test(path)) files.set(address, source)
  }
  for (const [kind, shelf] of [
    ['pages', pages],
    ['files', files],
  ] as const) {
    for (const [address, path] of Object.entries(ELSEWHERE[kind])) {
      if (existsSync(join(root, path))) shelf.set(address, { path, file: join(root, path) })
    }
  }
  const addresses = new Map([...pages, ...files].map(([address, { path }]) => [path, address]))
  addresses.set('docs/openapi.json', 'openapi.json')
  return { pages, files, addressOf: (path) => addresses.get(path) }
}

function filesUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesUnder(root, path) : [path]
  })
}
