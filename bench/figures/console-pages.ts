import { compare, median, type Result } from '../compare.ts'
import { loadConsoleHistory } from '../console-pages/history.ts'
import { type Timing, timeRequests } from '../console-pages/measure.ts'
import { consoleRequests, readSample } from '../console-pages/requests.ts'
import type { Figure } from '../figure.ts'

/** All dealers, including that of the demo. */
const DEALERS = 10_000
const LIMIT_MS = 300
/** Calls of each request in a round, after a first one that is not counted. */
const CALLS = 10
const SHOWN = 15
/** Answers of things that the generated history lacks: receipts, batches of stock, a statement without legal details. */
const ABSENT = [404, 409]

export const consolePages: Figure = {
  name: 'console-pages',
  summary: `p95 of the slowest console page or report with ${DEALERS} dealers and 5 000 000 orders of a year, against ${LIMIT_MS} ms`,
  async run(bench) {
    const { database } = await bench.createLoaded(`console_pages_${bench.orders}`, async ({ db }) => {
      const { orders, cipher, progress } = bench
      await loadConsoleHistory(db, { dealers: DEALERS - 1, orders, cipher, progress })
      return {}
    })
    const gateway = await database.startApi()
    try {
      const sample = await readSample(database.db)
      const requests = consoleRequests(sample, Date.now())
      const measured: Timing[][] = []
      const result: Result = await compare({
        name: 'console-pages',
        what: `p95 in ms of the slowest of ${requests.length} requests of every GET route of the console, with their filters, sorts and periods`,
        aim: { max: 1 },
        rounds: bench.rounds,
        progress: bench.progress,
        against: LIMIT_MS,
        async ours() {
          const timings = await timeRequests(database.db, gateway, sample.tenantId, requests, CALLS)
          const failed = timings.find(({ status }) => status !== 200 && !ABSENT.includes(status))
          if (failed) throw new Error(`${failed.path} was answered ${failed.status}`)
          measured.push(timings)
          const slowest = slowestOf(timings)
          for (const timing of slowest) bench.progress(`  ${describe(timing)}`)
          return slowest[0]!.p95Ms
        },
      })
      const slowest = slowestOf(medianTimings(measured))
      const above = slowest.filter(({ p95Ms }) => p95Ms > LIMIT_MS).length
      result.notes.push(
        `${above} of ${requests.length} requests have a median p95 above ${LIMIT_MS} ms`,
        `the slowest by the median of rounds, each with the machine's load: ${slowest.map(describe).join('; ')}`,
      )
      return [result]
    } finally {
      await gateway.stop()
      await database.drop()
    }
  },
}

function slowestOf(timings: readonly Timing[]): Timing[] {
  return timings.toSorted((left, right) => right.p95Ms - left.p95Ms).slice(0, SHOWN)
}

/** Each request with the medians of its rounds. */
function medianTimings(rounds: readonly Timing[][]): Timing[] {
  const medianOf = (index: number, member: 'p50Ms' | 'p95Ms' | 'cpuMs' | 'load') =>
    median(rounds.map((timings) => timings[index]![member]))
  return (rounds[0] ?? []).map((timing, index) => ({
    ...timing,
    p50Ms: medianOf(index, 'p50Ms'),
    p95Ms: medianOf(index, 'p95Ms'),
    cpuMs: medianOf(index, 'cpuMs'),
    load: medianOf(index, 'load'),
  }))
}

function describe({ as, path, p50Ms, p95Ms, cpuMs, file, load }: Timing): string {
  const shown = path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')
  const until = file ? ' until the first rows' : ''
  const whole = file ? ` (${file.cpuMs.toFixed(0)} ms for the whole file of ${file.rows} rows)` : ''
  return `${shown} (${as}): p50 ${p50Ms.toFixed(0)} ms, p95 ${p95Ms.toFixed(0)} ms${until}, processor time ${cpuMs.toFixed(0)} ms${whole}, load ${load.toFixed(1)}`
}
