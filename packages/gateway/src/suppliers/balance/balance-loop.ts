import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type LoopDeps, type Running, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { testDueSuppliers } from '../state/test-supplier.ts'
import type { Suppliers } from '../supplier-registry.ts'
import { checkYesterday } from './balance-days.ts'
import { ensureBalance } from './balance-state.ts'
import { followMoney } from './lack-of-money.ts'
import { type BalanceClaim, claimBalance, readBalance } from './read-balance.ts'

interface BalanceLoopDeps extends LoopDeps {
  db: Db
  ids: Ids
  suppliers: Suppliers
  wake: Pick<Wakeups<'settings' | 'fulfilment'>, 'on' | 'wake'>
}

const POLL_MS = 5_000
/** The number of balances that a node reads concurrently, so that an unresponsive supplier delays few others. */
const READINGS_MAX = 8

/**
 * Reads the operator's balances at suppliers when they are due, and tests suppliers that have not been tested yet. Each is
 * read by one node at a time. If suppliers have changed, each pass also takes off sale the packages whose suppliers lack
 * money, or puts them back.
 */
export function balanceLoop(deps: BalanceLoopDeps): Running {
  const known = new Set<string>()

  async function pass(): Promise<boolean> {
    const names = deps.suppliers
      .all()
      .flatMap(({ supplier }) => (supplier.balance === undefined ? [] : [supplier.name]))
    for (const name of names.filter((one) => !known.has(one))) {
      await ensureBalance(deps.db, name)
      known.add(name)
    }
    const claims: BalanceClaim[] = []
    while (names.length > 0 && claims.length < READINGS_MAX) {
      const claim = await claimBalance(deps.db, names)
      if (claim === undefined) break
      claims.push(claim)
    }
    await Promise.all([...claims.map(read), testDueSuppliers(deps)])
    await followMoney(deps.db)
    return claims.length === READINGS_MAX
  }

  async function read(claim: BalanceClaim): Promise<void> {
    const { supplier } = claim
    try {
      const outcome = await readBalance(deps, claim, deps.suppliers.get(supplier)?.supplier ?? {})
      if (outcome.kind === 'silent') {
        deps.log.warn({ supplier, reason: outcome.message }, 'the balance at a supplier could not be read')
      } else await checkYesterday(deps, supplier)
    } catch (error) {
      deps.log.error({ err: error, supplier }, 'the balance at a supplier could not be saved and will be read again')
    }
  }

  const loop = runLoop(deps, 'balances', POLL_MS, pass)
  const unsubscribe = deps.wake.on('settings', () => loop.wake())
  return {
    stop(deadlineMs) {
      unsubscribe()
      return loop.stop(deadlineMs)
    },
  }
}
