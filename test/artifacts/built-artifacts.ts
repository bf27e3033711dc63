import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { root } from '../local-gateway.ts'

export type Artifact = 'npm' | 'image' | 'deb' | 'kubernetes'

const WAIT_SECONDS = 600

/** Builds artifacts with `npm run dist`, once for each state of the sources, and returns their folder. */
export function builtArtifacts(...names: Artifact[]): string {
  const key = names.join('-')
  const folder = join(root, 'node_modules/.cache/dist', key)
  const stamp = `${folder}.built-from`
  mkdirSync(folder, { recursive: true })
  // Test files run concurrently: the second one waits, and uses the first one's build.
  const script = `[ "$(cat "$1" 2>/dev/null)" = "$2" ] || { find "$3" -mindepth 1 -delete && node scripts/dist.mjs --output "$3" ${names.join(' ')} && printf %s "$2" >"$1"; }`
  const command = ['-w', String(WAIT_SECONDS), `${folder}.lock`, 'sh', '-c', script, 'sh', stamp, sources(), folder]
  execFileSync('flock', command, { cwd: root, stdio: 'pipe' })
  return folder
}

/** The SBOM's package URLs whose file name has this ending, without versions: `pkg:npm/fastify`. */
export function sbomPackages(artifacts: string, ending: string): string[] {
  const file = readdirSync(artifacts).find((name) => name.endsWith(ending))!
  const { components } = JSON.parse(readFileSync(join(artifacts, file), 'utf8')) as { components: { purl: string }[] }
  return components.map(({ purl }) => purl.replace(/@[^@]*$/, '').replace('%40', '@'))
}

/** Copies the sources to another path with the packages that are installed here, for a second build of the same commit. */
export function copyCheckout(to: string): void {
  mkdirSync(to, { recursive: true })
  const files = trackedFiles()
  writeFileSync(`${to}.files`, files.join('\0'))
  execFileSync('sh', ['-c', 'xargs -0 cp -P --parents -t "$0" <"$0.files"', to], { cwd: root })
  rmSync(`${to}.files`)
  execFileSync('cp', ['-al', join(root, 'node_modules'), join(to, 'node_modules')])
  // A separate repository, so that a commit made here meanwhile does not change the second build.
  const git = (cwd: string, ...command: string[]) => execFileSync('git', command, { cwd, encoding: 'utf8' }).trim()
  const commit = git(root, 'rev-parse', 'HEAD')
  git(to, 'init', '--quiet')
  const objects = resolve(root, git(root, 'rev-parse', '--git-path', 'objects'))
  writeFileSync(join(to, '.git/objects/info/alternates'), `${objects}\n`)
  git(to, 'update-ref', 'HEAD', commit)
  git(to, 'read-tree', 'HEAD')
}

function sources(): string {
  const hash = createHash('sha256').update(execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root }))
  for (const file of trackedFiles()) {
    hash.update(`${file}\0`)
    if (!lstatSync(join(root, file)).isSymbolicLink()) hash.update(readFileSync(join(root, file)))
  }
  return hash.digest('hex')
}

function trackedFiles(): string[] {
  const list = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  return list.split('\0').filter((file) => file !== '' && existsSync(join(root, file)))
}
