import type { Deps } from './deps.ts'
import { type Loop, type Running, runLoop } from './lib/lifecycle.ts'
import { maintainPartitions } from './lib/partitions.ts'

const PARTITIONS_POLL_MS = 10 * 60_000

/** The background loops of this process. */
export async function startWorker({ log, db }: Deps): Promise<Running> {
  const loops: Loop[] = [
    runLoop({
      name: 'partitions',
      log,
      poll_ms: PARTITIONS_POLL_MS,
      async pass() {
        await maintainPartitions(db)
        return false
      },
    }),
  ]
  return {
    async stop(deadline_ms) {
      await Promise.all(loops.map((loop) => loop.stop(deadline_ms)))
    },
  }
}
