import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'

const root = join(packageRoot(), '../..')

/** The commit of the previous release, which test/previous-release names. */
export function previousRelease(): string {
  return readFileSync(join(root, 'test/previous-release'), 'utf8').trim()
}

/** False in a copy or a shallow clone, which lacks the commit. Warns that the tests are not run. */
export function hasPreviousRelease(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${previousRelease()}^{commit}`], { cwd: root, stdio: 'ignore' })
    return true
  } catch {
    console.warn(
      `\nNOT RUN beside the previous release: the history lacks ${previousRelease()} (git fetch --unshallow).\n`,
    )
    return false
  }
}

/**
 * Builds the previous release from the repository, once for each commit. @returns the folder of its gateway, with
 * `dist/main.js` and `dist/admin.js`
 */
export function buildPreviousRelease(): string {
  const commit = previousRelease()
  const folder = join(root, 'node_modules/.cache/dealer-esim-gateway', commit)
  const gateway = join(folder, 'packages/gateway')
  if (existsSync(folder)) return gateway
  const draft = `${folder}.${process.pid}`
  try {
    mkdirSync(draft, { recursive: true })
    const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 28 })
    execFileSync('tar', ['--extract', '--directory', draft], { input: archive })
    linkDependencies(join(draft, 'node_modules'))
    execFileSync(process.execPath, [join(draft, 'scripts/build.mjs'), 'gateway'], { stdio: 'pipe' })
    renameSync(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return gateway
}

/** Dependencies are those of this checkout; packages of the project are the release's own. */
function linkDependencies(folder: string): void {
  mkdirSync(join(folder, '@dealer-esim'), { recursive: true })
  const present = join(root, 'node_modules')
  for (const name of readdirSync(present)) {
    if (name !== '@dealer-esim' && name !== '.cache') symlinkSync(join(present, name), join(folder, name))
  }
  for (const name of readdirSync(join(present, '@dealer-esim'))) {
    symlinkSync(join('../../packages', name), join(folder, '@dealer-esim', name))
  }
}
