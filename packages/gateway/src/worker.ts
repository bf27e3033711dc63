import type { Deps } from './deps.ts'
import { fulfilmentLoop } from './fulfilment/loop.ts'
import { reconcileLoop } from './fulfilment/reconcile.ts'
import { type Running, runLoop } from './lib/lifecycle.ts'
import { maintainPartitions } from './lib/partitions.ts'
import { profilesLoop } from './profiles/loop.ts'
import { stockLoop } from './suppliers/stock/loop.ts'
import { ledgerLoop } from './wallet/ledger-loop.ts'
import { webhooksLoop } from './webhooks/loop.ts'
import { replayLoop } from './webhooks/replay-step.ts'

const PARTITIONS_POLL_MS = 10 * 60_000

/** The background loops of this process. */
export async function startWorker(deps: Deps): Promise<Running> {
  const { log, loops: watch, db } = deps
  const loops: Running[] = [
    runLoop({
      name: 'partitions',
      log,
      loops: watch,
      poll_ms: PARTITIONS_POLL_MS,
      async pass() {
        await maintainPartitions(db)
        return false
      },
    }),
    fulfilmentLoop(deps),
    reconcileLoop(deps),
    profilesLoop(deps),
    stockLoop(deps),
    webhooksLoop(deps),
    replayLoop(deps),
    ledgerLoop(deps),
  ]
  return {
    async stop(deadline_ms) {
      await Promise.all(loops.map((loop) => loop.stop(deadline_ms)))
    },
  }
}
