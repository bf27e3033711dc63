import { systemIds } from '@dealer-esim/lib/ids.ts'
import { compare, type Result } from '../compare.ts'
import type { Figure } from '../figure.ts'
import { FIGURE } from './limits-table.ts'
import { type Measured, measureDisturbed, measureUndisturbed } from './neighbour.ts'
import { NEIGHBOURS } from './neighbours.ts'
import { setStage } from './stage.ts'

/** A thousand calls: the p99 is the tenth slowest of them, so one garbage collection does not decide. */
const SECONDS = 10
const RATIO_MAX = 2
/** Far more than any caller may occupy: 64 MiB of unfinished bodies, and as much of unread answers. */
const MEMORY_MAX_MB = 256

export const neighbours: Figure = {
  name: FIGURE,
  summary: `p99 of a dealer's calls while one other caller is at its limits, for each caller of docs/limits.md, against undisturbed`,
  async run(bench) {
    const gateway = await bench.startAll()
    const stage = await setStage({ ...bench, ids: systemIds, config: { cellName: 'main' } }, gateway)
    try {
      await measureUndisturbed(stage, SECONDS) // warm
      const results: Result[] = []
      for (const neighbour of NEIGHBOURS) {
        const rounds: Measured[] = []
        const result = await compare({
          name: `${FIGURE}: ${neighbour.name}`,
          what: `p99 in ms of a dealer's calls, health and esim/order in turn, while the caller \`${neighbour.name}\` of docs/limits.md is at its limits, against the same without it`,
          aim: { max: RATIO_MAX },
          rounds: bench.rounds,
          progress: bench.progress,
          async ours() {
            const measured = await measureDisturbed(stage, neighbour, SECONDS)
            rounds.push(measured)
            if (measured.memoryMb > MEMORY_MAX_MB) {
              throw new Error(`${neighbour.name} took ${measured.memoryMb.toFixed(0)} MB of the gateway's memory`)
            }
            return measured.p99Ms
          },
          against: () => measureUndisturbed(stage, SECONDS),
        })
        const mostMb = Math.max(...rounds.map(({ memoryMb }) => memoryMb))
        result.notes.push(
          `at most ${mostMb.toFixed(0)} MB more memory; answers of a round: ${describe(rounds.at(-1)!)}`,
        )
        results.push(result)
      }
      return results
    } finally {
      stage.close()
      await gateway.stop()
    }
  },
}

function describe({ statuses }: Measured): string {
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  return counts.join(', ') || 'none'
}
