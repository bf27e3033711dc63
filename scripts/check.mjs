// npm run check: everything that needs no database. With --changed [base]: only what the files that differ from base (default:
// the commit on which you work) can break. With --without-tests: all of it except the unit tests, where npm test has run them.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const args = process.argv.slice(2)
const changed = args[0] === '--changed' ? changedFiles(args[1] ?? 'HEAD') : undefined
const isWithoutTests = args[0] === '--without-tests'
if (args.length > 0 && changed === undefined && !isWithoutTests)
  fail(
    `Unknown option ${args[0]}. Use npm run check, or npm run check -- followed by --changed [base] or --without-tests.`,
  )
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
      ...['language', 'types', 'lint', 'boundaries', 'unused'].map(
        (name) => /** @type {[string, string[]]} */ ([name, ['npm', 'run', '-s', `check:${name}`]]),
      ),
      ['unit tests', ['npx', 'vitest', 'run', '--project', 'unit']],
    ]

const wanted = steps.filter(
  ([name]) =>
    !(name === 'lint' && formatted?.length === 0) &&
    !(name === 'language' && prose?.length === 0) &&
    !(name === 'unit tests' && (source?.length === 0 || isWithoutTests)),
)
const names = wanted.map(([name]) => name)
let failed = ''
// Two at the same time: most of them use one core. Once one has failed, no other starts.
await Promise.all([runInTurn(), runInTurn()])
if (failed !== '') fail(failed)
process.stdout.write(`check: ${names.join(', ')} passed\n`)

async function runInTurn() {
  for (let step = wanted.shift(); step !== undefined && failed === ''; step = wanted.shift()) {
    const [name, command] = step
    const { text, isGreen } = await run(command)
    process.stdout.write(text)
    if (!isGreen) failed ||= `check: ${name} failed`
  }
}

/** @param {string[]} command @returns {Promise<{ text: string, isGreen: boolean }>} what it printed, whole */
function run([command = '', ...rest]) {
  return new Promise((resolve) => {
    const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part))
    child.on('error', (error) => resolve({ text: `${error.message}\n`, isGreen: false }))
    child.on('close', (status) => resolve({ text, isGreen: status === 0 }))
  })
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
