import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * Checks that tests fail when a safeguard is removed. Every patch of this folder removes one; its header says what then goes
 * wrong and which test files must fail:
 *
 *   # Any signature is accepted.
 *   # caught by: packages/gateway/test/http/dealer/codes.test.ts
 *
 * The patches are applied one by one in a temporary worktree of HEAD. The run fails if the tests pass with a patch, or if a
 * patch no longer applies. `npm run mutate -- wallet refund` runs the patches whose names contain one of these texts.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = fileURLToPath(new URL('.', import.meta.url))
/** Tests that hang with a mutation count as failed. Without one, all of them together take longer. */
const TEST_TIMEOUT_MS = 300_000

interface Mutation {
  name: string
  file: string
  effect: string
  tests: string[]
}

const filters = process.argv.slice(2)
const mutations = readMutations().filter(
  ({ name }) => filters.length === 0 || filters.some((text) => name.includes(text)),
)
const worktree = mkdtempSync(join(tmpdir(), 'dealer-esim-mutations-'))
const outputFile = `${worktree}.txt`
const failures: string[] = []
try {
  git(root, 'worktree', 'add', '--quiet', '--detach', worktree, 'HEAD')
  linkModules(worktree)
  // A test that fails without a mutation would prove nothing.
  const tests = [...new Set(mutations.flatMap((mutation) => mutation.tests))]
  const failure = runTests(tests, {})
  if (failure !== undefined) throw new Error(`The tests fail without any mutation: ${tests.join(' ')}\n${failure}`)
  for (const [index, mutation] of mutations.entries()) {
    const startedAt = performance.now()
    const { result, failure } = judge(mutation)
    const durationS = Math.round((performance.now() - startedAt) / 1000)
    const progress = `${index + 1}/${mutations.length}`
    process.stdout.write(`${progress} ${result.padEnd(14)} ${mutation.name} (${durationS} s): ${mutation.effect}\n`)
    // On a busy machine a test may fail because it takes too long, which proves nothing.
    if (failure !== undefined) process.stdout.write(`${failure}\n`)
    if (result !== 'detected') failures.push(`${mutation.name}: ${result}`)
  }
} finally {
  rmSync(worktree, { recursive: true, force: true })
  rmSync(outputFile, { force: true })
  git(root, 'worktree', 'prune')
}
process.stdout.write(failures.length === 0 ? 'every mutation was detected\n' : `${failures.join('\n')}\n`)
process.exitCode = failures.length === 0 && mutations.length > 0 ? 0 : 1

interface Judgement {
  result: 'detected' | 'SURVIVED' | 'DOES NOT APPLY'
  failure?: string | undefined
}

function judge({ file, tests }: Mutation): Judgement {
  if (spawnSync('git', ['apply', file], { cwd: worktree, stdio: 'ignore' }).status !== 0)
    return { result: 'DOES NOT APPLY' }
  try {
    const failure = runTests(tests, { timeout: TEST_TIMEOUT_MS })
    return { result: failure === undefined ? 'SURVIVED' : 'detected', failure }
  } finally {
    git(worktree, 'checkout', '--quiet', '--', '.')
  }
}

/** @returns the first failure, e.g. the title of a test and its assertion; undefined if all tests pass */
function runTests(tests: readonly string[], limit: { timeout?: number }): string | undefined {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  // A file and no pipe, which a process that a test left running would keep open.
  const output = openSync(outputFile, 'w')
  const { status, signal } = spawnSync(process.execPath, [vitest, 'run', '--bail=1', ...tests], {
    ...{ cwd: worktree, killSignal: 'SIGTERM', ...limit },
    ...{ stdio: ['ignore', output, output], env: { ...process.env, NO_COLOR: '1' } },
  })
  closeSync(output)
  if (status === 0) return undefined
  if (signal !== null) return `  ended by ${signal}`
  const [failure = '  no test failed'] = / FAIL .*\n.*/.exec(readFileSync(outputFile, 'utf8')) ?? []
  return failure
}

function readMutations(): Mutation[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.patch'))
  return files.sort().map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const [, effect] = /^# (.+)$/m.exec(text) ?? []
    const [, tests] = /^# caught by: (.+)$/m.exec(text) ?? []
    if (!effect || !tests) throw new Error(`${file} needs a header with its effect and a line "# caught by: FILES"`)
    return { name: file.replace('.patch', ''), file: join(folder, file), effect, tests: tests.split(' ') }
  })
}

/** Links the installed packages, and our own from the worktree, so that a mutation affects every package. */
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
