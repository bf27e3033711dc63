import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import type { FulfilmentDeps } from '#fulfilment/outcomes/outcome-deps.ts'
import { compareSupplierList, isComparedAfterRestore } from '#fulfilment/reconciliation/compare-lists.ts'
import { prepareRecovery } from './prepare-recovery.ts'
import { findRecovery } from './recovery-state.ts'

const POLL_MS = 5_000
/** A list that could not be compared is compared again after this time. */
const COMPARE_AGAIN_MS = 60_000

/**
 * While the gateway is in recovery: holds what may have been sold since the backup, and compares the lists of all suppliers
 * that have one. Every node may run it.
 */
export function recoveryLoop(deps: FulfilmentDeps): Loop {
  const comparedAt = new Map<string, number>()
  let isLogged = false
  return runLoop(deps, 'recovery', POLL_MS, async () => {
    const recovery = await findRecovery(deps.db)
    if (recovery === undefined) return false
    if (!isLogged) {
      isLogged = true
      const { backupStartedAt, restoredAt } = recovery
      deps.log.warn({ backupStartedAt, restoredAt }, 'in recovery: dealers are answered 000002; see recovery show')
    }
    await prepareRecovery(deps)
    for (const name of await listNotCompared(deps)) {
      const now = deps.clock.monotonic()
      if (now - (comparedAt.get(name) ?? Number.NEGATIVE_INFINITY) < COMPARE_AGAIN_MS) continue
      comparedAt.set(name, now)
      const supplied = deps.suppliers.get(name)
      if (supplied) await compareSupplierList(deps, supplied, 0)
    }
    return false
  })
}

/** @returns the suppliers with a list that has not been read to its end since the restore */
export async function listNotCompared({ db, suppliers }: Pick<FulfilmentDeps, 'db' | 'suppliers'>): Promise<string[]> {
  const names = suppliers.all().flatMap(({ supplier }) => (supplier.list === undefined ? [] : [supplier.name]))
  const rows = await db.query<{ supplier: string }>({
    text: `select supplier from unnest($1::text[]) as listed (supplier)
           where exists (select from restores r where r.recovering and not ${isComparedAfterRestore('listed.supplier')})
           order by supplier`,
    values: [names],
  })
  return rows.map(({ supplier }) => supplier)
}
