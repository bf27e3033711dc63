// npm run check: everything that needs no database. With --changed [base]: only what the files that differ from base (default:
// the commit on which you work) can break. CI runs all of it.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const args = process.argv.slice(2)
const changed = args[0] === '--changed' ? changedFiles(args[1] ?? 'HEAD') : undefined
if (args.length > 0 && changed === undefined)
  fail(`Unknown option ${args[0]}. Use npm run check, or npm run check -- --changed [base].`)
if (changed?.length === 0) fail('No file has changed.')

const source = changed?.filter((file) => /\.(ts|tsx|mts|mjs|js)$/.test(file))
// As in cspell.json, whose list of files does not apply to files that are named.
const prose = changed?.filter((file) =>
  /(\.(ts|tsx|mts|mjs|cjs|sql|md|sh|yml|html|css|patch|py|php|java|go|cs)|en\.json)$/.test(file),
)
const formatted = changed?.filter((file) => /\.(ts|tsx|mts|mjs|js|json|css)$/.test(file))

/** @type {[name: string, command: string[]][]} */
const steps = changed
  ? [
      ['types', ['node', 'node_modules/typescript7/bin/tsc', '--noEmit', '-p', 'tsconfig.json']],
      ['lint', ['npx', 'biome', 'check', '--no-errors-on-unmatched', ...(formatted ?? [])]],
      [
        'language',
        ['npx', 'cspell', 'lint', '--no-progress', '--no-summary', '--no-must-find-files', ...(prose ?? [])],
      ],
      [
        'unit tests',
        ['npx', 'vitest', 'related', '--run', '--project', 'unit', '--passWithNoTests', ...(source ?? [])],
      ],
      ['style tests', ['npx', 'vitest', 'run', '--project', 'unit', 'test/style']],
    ]
  : [
      ...['types', 'lint', 'language', 'boundaries', 'unused'].map(
        (name) => /** @type {[string, string[]]} */ ([name, ['npm', 'run', '-s', `check:${name}`]]),
      ),
      ['unit tests', ['npx', 'vitest', 'run', '--project', 'unit']],
    ]

for (const [name, [command = '', ...rest]] of steps) {
  if (name === 'lint' && formatted?.length === 0) continue
  if (name === 'language' && prose?.length === 0) continue
  if (name === 'unit tests' && source?.length === 0) continue
  const { status } = spawnSync(command, rest, { stdio: 'inherit' })
  if (status !== 0) fail(`check: ${name} failed`)
}

/** @param {string} base @returns {string[]} */
function changedFiles(base) {
  const git = (/** @type {string[]} */ ...command) => execFileSync('git', command, { encoding: 'utf8' }).split('\n')
  const names = [...git('diff', '--name-only', base, '--'), ...git('ls-files', '--others', '--exclude-standard')]
  return [...new Set(names)].filter((name) => name !== '' && existsSync(name))
}

/** @param {string} message @returns {never} */
function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
