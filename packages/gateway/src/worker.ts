import { type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { mailLoop } from './alerts/mail/mail-loop.ts'
import { arrivalLoop } from './cells/move/arrival.ts'
import type { Deps } from './deps.ts'
import { actionLoop } from './esims/actions/action-loop.ts'
import { expiryLoop } from './esims/life/expire.ts'
import { expiryNoticeLoop } from './esims/life/expiring.ts'
import { pollSuppliersLoop } from './esims/poll-suppliers.ts'
import { deliveryLoop } from './esims/sends/delivery-loop.ts'
import { fulfilmentLoop } from './fulfilment/fulfilment-loop.ts'
import { questionLoop } from './fulfilment/reconciliation/ask-questions.ts'
import { reconcileLoop } from './fulfilment/reconciliation/reconcile.ts'
import { reviewAlertLoop } from './fulfilment/review/review-alerts.ts'
import { backupAlertLoop } from './operations/backup/backup-alert.ts'
import { timesAheadLoop } from './operations/doctor/times-ahead.ts'
import { recoveryLoop } from './operations/recovery/recovery-loop.ts'
import { retentionLoop } from './platform/retention/retention-loop.ts'
import { syncLoop } from './products/sync/sync-loop.ts'
import { salesLoop } from './sales/update-sales.ts'
import { stockLoop } from './stock/stock-levels.ts'
import { balanceLoop } from './suppliers/balance/balance-loop.ts'
import { priceAlertLoop } from './suppliers/supplier-prices.ts'
import { booksLoop } from './wallet/books/books-loop.ts'
import { statementLoop } from './wallet/statement/issue-loop.ts'
import { ledgerLoop } from './wallet/verify/verify-loop.ts'
import { replayLoop } from './webhooks/replay/replay-step.ts'
import { webhooksLoop } from './webhooks/sending/sender.ts'

/** How soon a worker notices the first test twin, if it misses the wakeup. */
const TWINS_POLL_MS = 5_000

/** Starts the background loops of this process. */
export async function startWorker(deps: Deps): Promise<Running> {
  const loops: Running[] = [
    retentionLoop(deps),
    timesAheadLoop(deps),
    recoveryLoop(deps),
    fulfilmentLoop(deps),
    actionLoop(deps),
    reconcileLoop(deps),
    questionLoop(deps),
    reviewAlertLoop(deps),
    priceAlertLoop(deps),
    syncLoop(deps),
    balanceLoop(deps),
    expiryLoop(deps),
    expiryNoticeLoop(deps),
    pollSuppliersLoop(deps),
    stockLoop(deps),
    webhooksLoop(deps),
    replayLoop(deps),
    ledgerLoop(deps),
    booksLoop(deps),
    backupAlertLoop(deps),
    statementLoop(deps),
    salesLoop(deps),
    arrivalLoop(deps),
  ]
  loops.push(...[mailLoop(deps), deliveryLoop(deps)].filter((loop) => loop !== undefined), twinsLoop(deps))
  return {
    async stop(deadlineMs) {
      await Promise.all(loops.map((loop) => loop.stop(deadlineMs)))
    },
  }
}

/** Starts the loops of the test twins once there is one. */
function twinsLoop(deps: Deps): Running {
  let loops: Running[] = []
  const waiting = runLoop(deps, 'test twins', TWINS_POLL_MS, async () => {
    if (loops.length > 0) return
    const twins = await deps.twins.open()
    if (twins) loops = startTwinLoops(twins, deps)
  })
  const unsubscribe = deps.wake.on('settings', () => waiting.wake())
  return {
    async stop(deadlineMs) {
      unsubscribe()
      await waiting.stop(deadlineMs)
      await Promise.all(loops.map((loop) => loop.stop(deadlineMs)))
    },
  }
}

/** What a twin's orders, eSIMs and events need. Nothing of a twin is bought, summed, reported, issued or published; its e-mails are kept. */
function startTwinLoops(twins: Deps, live: Deps): Running[] {
  const loops = [
    retentionLoop(twins),
    timesAheadLoop(twins),
    fulfilmentLoop(twins),
    actionLoop(twins),
    reconcileLoop(twins),
    expiryLoop(twins),
    expiryNoticeLoop(twins),
    pollSuppliersLoop(twins),
    webhooksLoop(twins),
    replayLoop(twins),
    ledgerLoop(twins),
    booksLoop(twins),
    arrivalLoop(twins),
    deliveryLoop(twins),
    mailLoop(twins, live),
  ]
  return loops.filter((loop) => loop !== undefined)
}
