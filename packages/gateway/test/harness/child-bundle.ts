import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { packageRoot } from '../../src/lib/process/package-root.ts'

export interface ChildBundle {
  path: string
  remove(): void
}

/**
 * A program of the tests with all that it needs in one file, so that a child is there in a fifth of a second instead of
 * one and a half: some tests kill seventy of them.
 */
export async function bundleForChildren(entry: URL): Promise<ChildBundle> {
  const folder = join(packageRoot(), '../../node_modules/.cache')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `test-child-${randomBytes(5).toString('hex')}.mjs`)
  await build({
    entryPoints: [fileURLToPath(entry)],
    outfile: path,
    bundle: true,
    external: ['pg-native'],
    define: { navigator: '{"userAgent":"Node.js"}' }, // as in scripts/build.mjs, where it says why
    banner: { js: COMMONJS },
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
  })
  return { path, remove: () => rmSync(path, { force: true }) }
}

/** What dependencies that are no ES modules look for. */
const COMMONJS = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname`
