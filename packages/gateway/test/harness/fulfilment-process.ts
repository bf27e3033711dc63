import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { packageRoot } from '../../src/lib/package-root.ts'

/** Starts one node's fulfilment as a child, killed with this process. */
export function spawnFulfilment(
  bundle: string,
  databaseUrl: string,
  pauseAt?: string,
): ChildProcess & { ended: Promise<unknown> } {
  const child = spawn(process.execPath, [bundle, databaseUrl], {
    cwd: packageRoot(),
    env: { ...process.env, DEPLOYMENT: 'local', ...(pauseAt ? { PAUSE_AT: pauseAt } : {}) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return Object.assign(child, { ended: once(child, 'close') })
}

/**
 * All that it needs in one file, so that a child is there in a fifth of a second instead of one and a half: some tests
 * kill seventy of them.
 */
export async function bundleFulfilment(): Promise<{ path: string; remove(): void }> {
  const folder = join(packageRoot(), '../../node_modules/.cache')
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `fulfilment-node-${randomBytes(5).toString('hex')}.mjs`)
  await build({
    entryPoints: [join(packageRoot(), 'test/harness/fulfilment-node.ts')],
    outfile: path,
    bundle: true,
    external: ['pg-native'],
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
