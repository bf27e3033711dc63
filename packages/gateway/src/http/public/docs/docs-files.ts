import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { documentsRoot } from '#platform/package-root.ts'

/**
 * The files served under /docs, by address without that prefix: `quick-start` is docs/quick-start.md. The table is built
 * once from the repository, so that no requested address is ever used as a file path.
 */
export interface DocsFiles {
  /** Markdown pages by address. */
  pages: ReadonlyMap<string, DocsFile>
  /** Samples, test vectors and pictures, served unchanged. */
  files: ReadonlyMap<string, DocsFile>
  /** The address of a file, by its path in the repository. */
  addressOf(path: string): string | undefined
}

export interface DocsFile {
  /** In the repository, with slashes: `docs/quick-start.md`. */
  path: string
  /** Absolute. */
  file: string
}

/** Documents outside of docs/. */
const OTHER_DOCUMENTS = {
  pages: {
    changelog: 'CHANGELOG.md',
    sdk: 'packages/sdk/README.md',
    'sdk-python': 'sdks/python/README.md',
    'sdk-php': 'sdks/php/README.md',
  },
  files: {
    'vectors.json': 'test/vectors/signing.json',
    'certify-shop.mts': 'packages/sdk/examples/certify-shop.mts',
    'certify_shop.py': 'sdks/python/examples/certify_shop.py',
    'certify_shop.php': 'sdks/php/examples/certify_shop.php',
    'django_shop.py': 'sdks/python/examples/django_shop.py',
    'symfony_shop.php': 'sdks/php/examples/symfony_shop.php',
  },
}

export function findDocsFiles(root = documentsRoot()): DocsFiles {
  const pages = new Map<string, DocsFile>()
  const files = new Map<string, DocsFile>()
  for (const path of filesUnder(root, 'docs')) {
    const source = { path, file: join(root, path) }
    const address = path.slice('docs/'.length)
    if (path.endsWith('.md')) pages.set(address.replace(/(?:^|(?<=\/))(?:index|README)\.md$|\.md$/, ''), source)
    else if (/^docs\/(samples\/|images\/.*\.png$|postman[a-z-]*\.json$)/.test(path)) files.set(address, source)
  }
  for (const [kind, table] of [
    ['pages', pages],
    ['files', files],
  ] as const) {
    for (const [address, path] of Object.entries(OTHER_DOCUMENTS[kind])) {
      if (existsSync(join(root, path))) table.set(address, { path, file: join(root, path) })
    }
  }
  const addresses = new Map([...pages, ...files].map(([address, { path }]) => [path, address]))
  for (const file of ['openapi.json', 'openapi-rt.json']) addresses.set(`docs/${file}`, file)
  return { pages, files, addressOf: (path) => addresses.get(path) }
}

function filesUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesUnder(root, path) : [path]
  })
}
