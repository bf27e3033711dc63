import { type Loop, runLoop } from '../../lib/process/lifecycle.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'
import { askAboutWatched } from './ask-watched.ts'
import { cancelOrphans } from './cancel-orphans.ts'
import { compareSupplierList } from './compare-lists.ts'

const POLL_MS = 30_000
/** Suppliers' books are compared this often, over a little more than that. */
const COMPARE_EVERY_MS = 3_600_000
const COMPARE_SINCE_MS = 26 * 3_600_000
const FIRST_COMPARE_MS = 120_000

/**
 * What fulfilment leaves open is not forgotten: eSIMs that may yet come for refunded items, cancels without an answer,
 * orphans to be cancelled, and whatever suppliers have on their books for us that we do not have on ours. (Orders under
 * review are asked about by fulfilment itself.)
 */
export function reconcileLoop(deps: FulfilmentDeps): Loop {
  // A node that never runs for an hour compares all the same.
  let comparedAt = deps.clock.monotonic() - COMPARE_EVERY_MS + FIRST_COMPARE_MS
  return runLoop({
    name: 'reconcile',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass() {
      const watched = await askAboutWatched(deps)
      const orphans = await cancelOrphans(deps)
      if (deps.clock.monotonic() - comparedAt >= COMPARE_EVERY_MS) {
        comparedAt = deps.clock.monotonic()
        for (const supplied of deps.suppliers.all()) await compareSupplierList(deps, supplied, COMPARE_SINCE_MS)
      }
      return watched + orphans > 0 // there may be more
    },
  })
}
