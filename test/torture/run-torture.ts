import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { ATTACKS, type Attack } from './attacks.ts'
import { type Outcome, reportText } from './report.ts'

/*
 * Attacks the promises of the documentation, one after the other, until the time is over: `npm run torture -- --minutes 60`.
 * Each attack is a set of tests that also runs elsewhere; here it runs with another seed in each round, and what the tests
 * count is added up. Ends with 1 if anything was found.
 */

const root = new URL('../..', import.meta.url).pathname

const options = new Command('torture')
  .option('--minutes <n>', 'begin no round later than this', '60')
  .option('--seed <n>', 'seed of the first round; later rounds count up', String(randomInt(2 ** 31)))
  .option('--write', 'write docs/torture.md')
  .parse()
  .opts<{ minutes: string; seed: string; write?: boolean }>()

interface Report {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  testResults: {
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[]
    message: string
  }[]
}

/** Runs the tests of an attack once. */
async function runRound(attack: Attack, seed: number, outcome: Outcome): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'torture-'))
  const [results, figures] = [join(folder, 'results.json'), join(folder, 'figures.jsonl')]
  const startedAt = performance.now()
  const args = ['vitest', 'run', '--project', attack.project, '--reporter', 'json', '--outputFile', results]
  const child = spawn('npx', [...args, ...attack.files], {
    cwd: root,
    stdio: 'ignore',
    env: { ...process.env, ...attack.env, SEED: String(seed), TEST_FIGURES: figures },
  })
  await new Promise((resolve) => child.once('close', resolve))
  outcome.rounds += 1
  outcome.seconds += (performance.now() - startedAt) / 1_000
  if (existsSync(results)) addResults(JSON.parse(readFileSync(results, 'utf8')) as Report, seed, outcome)
  else outcome.found.push(`seed ${seed}: the tests did not run`)
  if (existsSync(figures)) addFigures(readFileSync(figures, 'utf8'), outcome)
  rmSync(folder, { recursive: true })
}

function addResults(report: Report, seed: number, outcome: Outcome): void {
  outcome.tests += report.numPassedTests + report.numFailedTests
  outcome.notRun += report.numPendingTests
  for (const { assertionResults, message } of report.testResults) {
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    for (const { fullName, failureMessages } of failed)
      outcome.found.push(`seed ${seed}: ${fullName}: ${failureMessages[0]?.split('\n')[0] ?? ''}`)
    if (assertionResults.length === 0) outcome.found.push(`seed ${seed}: ${message.split('\n')[0]}`)
  }
}

function addFigures(lines: string, outcome: Outcome): void {
  for (const line of lines.split('\n').filter(Boolean)) {
    const { figures } = JSON.parse(line) as { figures: Record<string, number> }
    for (const [name, value] of Object.entries(figures)) outcome.figures[name] = (outcome.figures[name] ?? 0) + value
  }
}

const minutes = Number(options.minutes)
const firstSeed = Number(options.seed)
if (!(minutes > 0) || !Number.isSafeInteger(firstSeed)) throw new Error('Use, for example, --minutes 60 --seed 7.')
const outcomes = ATTACKS.map((): Outcome => ({ rounds: 0, seconds: 0, tests: 0, notRun: 0, figures: {}, found: [] }))
const startedAt = new Date()
const until = Date.now() + minutes * 60_000
for (let round = 0; Date.now() < until; round++) {
  for (const [index, attack] of ATTACKS.entries()) {
    if (Date.now() >= until) break
    await runRound(attack, firstSeed + round, outcomes[index]!)
    const { found, seconds } = outcomes[index]!
    process.stdout.write(
      `round ${round + 1}: ${attack.attack}: ${Math.round(seconds)} s in all, ${found.length} found\n`,
    )
  }
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
const text = reportText(ATTACKS, outcomes, {
  startedAt,
  minutes: Math.round((Date.now() - startedAt.getTime()) / 60_000),
  seed: firstSeed,
  commit: git('rev-parse', 'HEAD') + (git('status', '--porcelain') === '' ? '' : ' with local changes'),
  machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`,
})
process.stdout.write(`\n${text}`)
if (options.write)
  writeFileSync(
    join(root, 'docs/torture.md'),
    `${text}\nSHA-256 of the text above: ${createHash('sha256').update(text).digest('hex')}\n`,
  )
process.exitCode = outcomes.some(({ found }) => found.length > 0) ? 1 : 0
