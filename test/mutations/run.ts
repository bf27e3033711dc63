import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * Does each test that guards something fail when that something is taken out? Every patch of this folder takes one out;
 * its header says what goes missing and which test files must notice:
 *
 *   # Any signature will do.
 *   # caught by: packages/gateway/test/dealer-api/codes.test.ts
 *
 * The patches are applied one by one in a scratch worktree of HEAD. A patch that survives its tests, or that no longer
 * applies, fails the run. `npm run mutate -- wallet refund` runs those whose names contain one of the words.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = fileURLToPath(new URL('.', import.meta.url))
/** A mutant that hangs is caught, too. */
const PATIENCE_MS = 300_000

interface Mutation {
  name: string
  file: string
  missing: string
  tests: string[]
}

const words = process.argv.slice(2)
const mutations = readMutations().filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
const scratch = mkdtempSync(join(tmpdir(), 'dealer-esim-mutations-'))
const failures: string[] = []
try {
  git(root, 'worktree', 'add', '--quiet', '--detach', scratch, 'HEAD')
  linkModules(scratch)
  // A test that fails without a mutation would kill every mutant.
  const tests = [...new Set(mutations.flatMap((mutation) => mutation.tests))]
  if (!runTests(tests)) throw new Error(`the tests fail without any mutation: ${tests.join(' ')}`)
  for (const [index, mutation] of mutations.entries()) {
    const startedAt = performance.now()
    const result = judge(mutation)
    const durationS = Math.round((performance.now() - startedAt) / 1000)
    const progress = `${index + 1}/${mutations.length}`
    process.stdout.write(`${progress} ${result.padEnd(14)} ${mutation.name} (${durationS} s): ${mutation.missing}\n`)
    if (result !== 'killed') failures.push(`${mutation.name}: ${result}`)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
  git(root, 'worktree', 'prune')
}
process.stdout.write(failures.length === 0 ? 'every mutant was killed\n' : `${failures.join('\n')}\n`)
process.exitCode = failures.length === 0 && mutations.length > 0 ? 0 : 1

function judge({ file, tests }: Mutation): 'killed' | 'SURVIVED' | 'DOES NOT APPLY' {
  if (spawnSync('git', ['apply', file], { cwd: scratch, stdio: 'ignore' }).status !== 0) return 'DOES NOT APPLY'
  try {
    return runTests(tests) ? 'SURVIVED' : 'killed'
  } finally {
    git(scratch, 'checkout', '--quiet', '--', '.')
  }
}

function runTests(tests: readonly string[]): boolean {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const options = { cwd: scratch, stdio: 'ignore', timeout: PATIENCE_MS, killSignal: 'SIGTERM' } as const
  return spawnSync(process.execPath, [vitest, 'run', '--bail=1', ...tests], options).status === 0
}

function readMutations(): Mutation[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.patch'))
  return files.sort().map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const [, missing] = /^# (.+)$/m.exec(text) ?? []
    const [, tests] = /^# caught by: (.+)$/m.exec(text) ?? []
    if (!missing || !tests) throw new Error(`${file} does not say what is missing and who must notice`)
    return { name: file.replace('.patch', ''), file: join(folder, file), missing, tests: tests.split(' ') }
  })
}

/** The installed packages; our own from the scratch worktree, so that a mutation of any of them is seen by all. */
function linkModules(into: string): void {
  const modules = join(into, 'node_modules')
  mkdirSync(join(modules, '@dealer-esim'), { recursive: true })
  for (const entry of readdirSync(join(root, 'node_modules'))) {
    if (entry === '@dealer-esim' || entry === '.vite') continue
    symlinkSync(join(root, 'node_modules', entry), join(modules, entry))
  }
  for (const name of readdirSync(join(root, 'node_modules/@dealer-esim'))) {
    symlinkSync(join('../../packages', name), join(modules, '@dealer-esim', name))
  }
}

function git(cwd: string, ...args: string[]): void {
  execFileSync('git', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}
