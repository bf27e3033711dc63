import { readFileSync, writeFileSync } from 'node:fs'
import { Command } from 'commander'
import type { Result } from './compare.ts'
import { createBenchServer } from './environment.ts'
import type { Figure } from './figure.ts'
import { calm } from './figures/calm.ts'
import { consolePages } from './figures/console-pages.ts'
import { dealers } from './figures/dealers.ts'
import { growth } from './figures/growth.ts'
import { health } from './figures/health.ts'
import { latency } from './figures/latency.ts'
import { nodes } from './figures/nodes.ts'
import { orderHot, orderSpread } from './figures/orders.ts'
import { replay } from './figures/replay.ts'
import { rtOrders } from './figures/rt-orders.ts'
import { sold } from './figures/sold.ts'
import { start } from './figures/start.ts'
import { topups } from './figures/topups.ts'
import { webhooks } from './figures/webhooks.ts'
import { fillLimits } from './neighbours/limits-table.ts'
import { neighbours } from './neighbours/neighbours-figure.ts'
import { plot } from './plot.ts'
import { markdown } from './report.ts'

/** Each figure is a ratio of two measurements in one run on one machine. The longest is last. */
const FIGURES: readonly Figure[] = [
  health,
  orderHot,
  orderSpread,
  topups,
  rtOrders,
  latency,
  replay,
  sold,
  calm,
  nodes,
  dealers,
  start,
  webhooks,
  neighbours,
  consolePages,
  growth,
]

const program = new Command('bench')
  .description('Compares the gateway with baselines on the same machine.')
  .argument('[names...]', `figures to measure: ${FIGURES.map((figure) => figure.name).join(', ')}; default: all`)
  .option('--rounds <n>', 'rounds of each figure', '5')
  .option('--orders <n>', 'number of orders of console-pages, and on the larger side of growth', '5000000')
  .option('--server <url>', 'measure on this server of PostgreSQL on this machine instead of the embedded one')
  .option('--data <dir>', 'keep the loaded databases of console-pages and growth here; a later run uses them')
  .option('--json <file>', 'also write the results as JSON')
  .option('--cpu-prof <dir>', 'write CPU profiles of the gateways to this folder')
  .option('--write', 'write bench/RESULTS.md and its plot')
  .option('--limits', 'write the figures of neighbours into docs/limits.md')
  .addHelpText(
    'after',
    `\nFigures:\n${FIGURES.map(({ name, summary }) => `  ${name.padEnd(14)} ${summary}`).join('\n')}`,
  )
  .parse()

const options = program.opts<{
  rounds: string
  orders: string
  server?: string
  data?: string
  json?: string
  cpuProf?: string
  write?: boolean
  limits?: boolean
}>()
const unknown = program.args.filter((name) => !FIGURES.some((figure) => figure.name === name))
if (unknown.length > 0)
  program.error(`Unknown figure ${unknown.join(', ')}. Available: ${FIGURES.map((figure) => figure.name).join(', ')}.`)
const chosen = FIGURES.filter(({ name }) => program.args.length === 0 || program.args.includes(name))

if (options.server && options.data) program.error('Use either --server or --data: --data keeps an embedded server.')

const progress = (line: string) => process.stderr.write(`${line}\n`)
const server = await createBenchServer({
  rounds: Number(options.rounds),
  orders: Number(options.orders),
  progress,
  serverUrl: options.server,
  dataDir: options.data,
  profileDir: options.cpuProf,
})
// Exit handlers stop what was started and remove its data, so signals must lead to a normal exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const results: Result[] = []
try {
  for (const line of server.settings) progress(line)
  for (const [index, figure] of chosen.entries()) {
    progress(`\n${index + 1} of ${chosen.length}: ${figure.name}: ${figure.summary}`)
    try {
      const bench = await server.createEnvironment(figure.name)
      try {
        results.push(...(await figure.run(bench)))
      } finally {
        await bench.drop()
      }
    } catch (error) {
      // Continue: the other figures do not depend on this one.
      progress(`\n${figure.name} failed: ${(error as Error).stack}`)
      process.exitCode = 1
    }
    save() // after each figure, so that an interrupted run keeps its results
  }
} finally {
  await server.close()
}
process.stdout.write(`\n${markdown(results, server.settings)}`)

function save(): void {
  if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
  if (options.limits) {
    const page = new URL('../docs/limits.md', import.meta.url)
    writeFileSync(page, fillLimits(readFileSync(page, 'utf8'), results))
  }
  if (!options.write) return
  writeFileSync(new URL('RESULTS.md', import.meta.url), markdown(results, server.settings))
  writeFileSync(new URL('results.svg', import.meta.url), plot(results))
}
