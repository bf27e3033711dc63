import type { Attack } from './attacks.ts'

/** What came of an attack in all rounds. */
export interface Outcome {
  rounds: number
  seconds: number
  tests: number
  /** Tests that this machine cannot run. */
  notRun: number
  /** Sums of what tests have counted, such as kills and orders. */
  figures: Record<string, number>
  /** Promises that did not hold. */
  found: string[]
}

export interface Run {
  startedAt: Date
  minutes: number
  seed: number
  commit: string
  machine: string
}

/** The report of a run, as Markdown. */
export function reportText(attacks: readonly Attack[], outcomes: readonly Outcome[], run: Run): string {
  const found = outcomes.flatMap((outcome) => outcome.found)
  const sums = sumOf(outcomes)
  const rows = attacks.map(({ promise, page, attack }, index) => {
    const { rounds, tests, notRun, figures, found } = outcomes[index]!
    const done = [
      `${rounds} rounds, ${tests} tests`,
      ...(notRun > 0 ? [`${notRun} not run here`] : []),
      figuresText(figures),
    ]
    return `| [${promise}](${page.replace(/^docs\//, '')}) | ${attack} | ${done.filter(Boolean).join('; ')} | ${rounds === 0 ? 'not attacked' : found.length === 0 ? 'held' : `**${found.length} found**`} |`
  })
  return `# Torture report

What the documentation promises, what was done against it, how often, and what was found. Repeat it with
\`npm run torture -- --minutes ${run.minutes} --seed ${run.seed}\`.

| | |
|---|---|
| commit | ${run.commit} |
| begun | ${run.startedAt.toISOString()} |
| minutes | ${run.minutes} |
| seed of the first round | ${run.seed} |
| machine | ${run.machine} |
| counted in all | ${figuresText(sums)} |
| found | ${found.length === 0 ? 'nothing lost, nothing doubled' : `${found.length}, below`} |

| promise | attack | done | result |
|---|---|---|---|
${rows.join('\n')}
${found.length === 0 ? '' : `\n## Found\n\n${found.map((line) => `- ${line.replaceAll('|', '\\|')}`).join('\n')}\n`}`
}

function sumOf(outcomes: readonly Outcome[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { figures } of outcomes)
    for (const [name, value] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + value
  return sums
}

/** Such as `kills 20, orders 1 234`. */
function figuresText(figures: Record<string, number>): string {
  const words = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return Object.entries(figures)
    .map(([name, value]) => `${words(name)} ${value.toLocaleString('en').replaceAll(',', ' ')}`)
    .join(', ')
}
