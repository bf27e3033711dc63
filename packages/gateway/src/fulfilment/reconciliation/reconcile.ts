import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { askAboutWatched } from './ask-watched.ts'
import { cancelOrphans } from './cancel-orphans.ts'
import { compareSupplierList } from './compare-lists.ts'

const POLL_MS = 30_000
/** How often suppliers' lists are compared. Each comparison reaches back further than a day. */
const COMPARE_EVERY_MS = 3_600_000
const COMPARE_SINCE_MS = 26 * 3_600_000
const FIRST_COMPARE_MS = 120_000

/**
 * Re-checks what fulfilment leaves unresolved: eSIMs that may still arrive for refunded items, orphans to cancel, and eSIMs
 * that suppliers list for us but we do not have. Fulfilment itself queries suppliers about orders under review.
 */
export function reconcileLoop(deps: FulfilmentDeps): Loop {
  // The first comparison runs early, so that nodes which restart often compare lists too.
  let comparedAt = deps.clock.monotonic() - COMPARE_EVERY_MS + FIRST_COMPARE_MS
  return runLoop(deps, 'reconcile', POLL_MS, async () => {
    const watched = await askAboutWatched(deps)
    const orphans = await cancelOrphans(deps)
    if (deps.clock.monotonic() - comparedAt >= COMPARE_EVERY_MS) {
      comparedAt = deps.clock.monotonic()
      for (const supplied of deps.suppliers.all()) await compareSupplierList(deps, supplied, COMPARE_SINCE_MS)
    }
    return watched + orphans > 0 // more may be due
  })
}
