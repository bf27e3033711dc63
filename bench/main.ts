import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import type { Result } from './compare.ts'
import { openServer } from './environment.ts'
import type { Figure } from './figure.ts'
import { growth } from './figures/growth.ts'
import { health } from './figures/health.ts'
import { latency } from './figures/latency.ts'
import { nodes } from './figures/nodes.ts'
import { orderHot, orderSpread } from './figures/orders.ts'
import { replay } from './figures/replay.ts'
import { start } from './figures/start.ts'
import { webhooks } from './figures/webhooks.ts'
import { plot } from './plot.ts'
import { markdown } from './report.ts'

/** Each figure is a ratio of two things, in one run, on one machine. The longest comes last. */
const FIGURES: readonly Figure[] = [health, orderHot, orderSpread, latency, replay, nodes, start, webhooks, growth]

const program = new Command('bench')
  .description('Measures the gateway against yardsticks on the same machine.')
  .argument('[names...]', `figures to measure: ${FIGURES.map((figure) => figure.name).join(', ')}; none: all`)
  .option('--rounds <n>', 'rounds of each figure', '5')
  .option('--orders <n>', 'orders of the larger side of growth', '5000000')
  .option('--json <file>', 'also write the results as JSON')
  .option('--cpu-prof <dir>', 'leave CPU profiles of the gateways there')
  .option('--write', 'write bench/RESULTS.md and its plot')
  .addHelpText(
    'after',
    `\nFigures:\n${FIGURES.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join('\n')}`,
  )
  .parse()

const options = program.opts<{ rounds: string; orders: string; json?: string; cpuProf?: string; write?: boolean }>()
const unknown = program.args.filter((name) => !FIGURES.some((figure) => figure.name === name))
if (unknown.length > 0) program.error(`There is no figure ${unknown.join(', ')}. --help lists them.`)
const chosen = FIGURES.filter(({ name }) => program.args.length === 0 || program.args.includes(name))

const progress = (line: string) => process.stderr.write(`${line}\n`)
const server = await openServer({
  rounds: Number(options.rounds),
  orders: Number(options.orders),
  progress,
  profileDir: options.cpuProf,
})
// What was started is ended, and its data removed, when the process exits: also when it is told to.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const results: Result[] = []
try {
  for (const line of server.settings) progress(line)
  for (const [index, figure] of chosen.entries()) {
    progress(`\n${index + 1} of ${chosen.length}: ${figure.name}: ${figure.summary}`)
    try {
      const bench = await server.open(figure.name)
      try {
        results.push(...(await figure.run(bench)))
      } finally {
        await bench.drop()
      }
    } catch (error) {
      // The others are worth having all the same.
      progress(`\n${figure.name} failed: ${(error as Error).stack}`)
      process.exitCode = 1
    }
    keep() // a run that is cut short has measured something, too
  }
} finally {
  await server.close()
}
process.stdout.write(`\n${markdown(results, server.settings)}`)

function keep(): void {
  if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
  if (!options.write) return
  writeFileSync(new URL('RESULTS.md', import.meta.url), markdown(results, server.settings))
  writeFileSync(new URL('results.svg', import.meta.url), plot(results))
}
