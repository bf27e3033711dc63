import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type LoopDeps, type Running, runLoop, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { claimSync, followChanges, releaseSync, runSync, type SyncClaim } from './run-sync.ts'
import { ensureSync } from './sync-state.ts'

interface SyncLoopDeps extends LoopDeps {
  db: Db
  ids: Ids
  suppliers: Suppliers
  wake: Pick<Wakeups<'settings'>, 'on'>
}

const POLL_MS = 5_000
/** The number of catalogues that this node reads concurrently: they take memory, and orders take precedence. */
const SYNCS_MAX = 2

/** Reads suppliers' catalogues when they are due, and updates the packages accordingly. */
export function syncLoop(deps: SyncLoopDeps): Running {
  const running = new Map<SyncClaim, Promise<void>>()
  const known = new Set<string>()

  async function claimDue(): Promise<void> {
    const names = namesWithCatalogue(deps.suppliers)
    for (const name of names.filter((one) => !known.has(one))) {
      await ensureSync(deps.db, name)
      known.add(name)
    }
    while (running.size < SYNCS_MAX && names.length > 0) {
      const claim = await claimSync(deps.db, names)
      if (claim === undefined) return
      running.set(claim, run(claim))
    }
  }

  async function run(claim: SyncClaim): Promise<void> {
    const { supplier } = claim
    try {
      const configured = deps.suppliers.get(supplier)
      if (configured === undefined) return await releaseSync(deps.db, claim)
      const result = await runSync(deps, claim, configured.supplier)
      deps.log.info({ supplier, ...shown(result) }, 'the catalogue of a supplier was read')
    } catch (error) {
      deps.log.error({ err: error, supplier }, 'the catalogue of a supplier could not be saved and will be read again')
    } finally {
      running.delete(claim)
    }
  }

  const loop = runLoop(deps, 'catalogues', POLL_MS, async () => {
    await claimDue()
    await followChanges(deps)
  })
  const unsubscribe = deps.wake.on('settings', () => loop.wake())
  return {
    async stop(deadlineMs) {
      unsubscribe()
      await loop.stop(deadlineMs)
      const claims = [...running.keys()]
      if (await settlesWithin(Promise.allSettled(running.values()), Math.min(deadlineMs, STOP_WAIT_MS))) return
      // Another node will read these catalogues from the start.
      await Promise.allSettled(claims.map((claim) => releaseSync(deps.db, claim)))
    },
  }
}

/** A stopping node waits only this long for a catalogue, because another node will read it again. */
const STOP_WAIT_MS = 1_000

function namesWithCatalogue(suppliers: Suppliers): string[] {
  return suppliers.all().flatMap(({ supplier }) => (supplier.catalogue === undefined ? [] : [supplier.name]))
}

function shown({ outcome, ...rest }: Awaited<ReturnType<typeof runSync>>) {
  if ('message' in rest) return { outcome, reason: rest.message }
  return 'listed' in rest ? { outcome, listed: rest.listed, unreadable: rest.unreadable } : { outcome }
}
