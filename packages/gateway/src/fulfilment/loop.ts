import { LOWEST_UUID } from '../lib/ids.ts'
import { isConnectionLoss } from '../lib/postgres/errors.ts'
import { type Loop, runLoop, settlesWithin } from '../lib/process/lifecycle.ts'
import { CLAIM_ORDERS_MAX, type Claim, claimDueOrders } from './claiming/claim.ts'
import { listDueTenants, postponeFirstOrder } from './claiming/due-orders.ts'
import type { FulfilmentDeps } from './outcomes/deps.ts'
import { runClaim } from './run-claim.ts'

/** What nobody woke us for is found this late at most. */
const POLL_MS = 500
/** Tenants that take their turn in one pass. */
const TENANTS_A_PASS = 64
/** Claims that are made at once. */
const LANES = 4
/** Orders that this node holds at most: bounds memory, and what a crash leaves to be taken over. */
const IN_HAND_MAX = 4_000
/** An order that cannot even be claimed comes back after this long. */
const POISONED_MS = 60_000
const SHORTEST_NAP_MS = 5

/**
 * Delivers what was paid. Tenants with due orders take turns, one claim each, so that one with a million orders delays
 * another's by one claim; a claim's calls go on beside the next claims.
 */
export function fulfilmentLoop(deps: FulfilmentDeps): Loop {
  const working = new Set<Promise<void>>()
  let inHand = 0
  let after = LOWEST_UUID
  let nap: { at: number; timer: NodeJS.Timeout } | undefined

  /** One claim of one tenant. @returns whether the tenant may have more. */
  async function turn(tenantId: string): Promise<boolean> {
    const begunAt = deps.clock.monotonic()
    const claim = await claimWell(deps, tenantId)
    if (claim === undefined) return true
    comeBackAt(claim.nextDueAt)
    if (claim.attempts.length + claim.refusals.length > 0) {
      // Not those that were handed back: a supplier that hangs with one order of each claim must not fill our hands.
      inHand += claim.heldCount
      const work = runClaim(deps, claim, begunAt)
        .then(comeBackAt, (error) => deps.log.error({ err: error, tenantId }, 'a claim was not carried out'))
        .finally(() => {
          inHand -= claim.heldCount
          working.delete(work)
        })
      working.add(work)
    }
    return claim.orderCount === CLAIM_ORDERS_MAX
  }

  async function pass(): Promise<boolean> {
    let tenants = await listDueTenants(deps.db, after, TENANTS_A_PASS)
    if (tenants.length < TENANTS_A_PASS) {
      // The end of the list: the turn goes on at its beginning.
      const first =
        after === LOWEST_UUID ? [] : await listDueTenants(deps.db, LOWEST_UUID, TENANTS_A_PASS - tenants.length)
      tenants = [...new Set([...tenants, ...first])]
    }
    let more = tenants.length === TENANTS_A_PASS
    const queue = [...tenants]
    const lane = async () => {
      for (let tenantId = queue.shift(); tenantId !== undefined; tenantId = queue.shift()) {
        while (inHand >= IN_HAND_MAX) await Promise.race(working)
        if (await turn(tenantId)) more = true
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    after = tenants.at(-1) ?? LOWEST_UUID
    return more
  }

  /** An order that is due again before the next poll is worth a timer. */
  function comeBackAt(due: Date | undefined): void {
    if (due === undefined) return
    const nowMs = deps.databaseClock.now()
    const at = Math.max(due.getTime(), nowMs + SHORTEST_NAP_MS)
    if (at > nowMs + POLL_MS || (nap !== undefined && nap.at <= at)) return
    clearTimeout(nap?.timer)
    nap = {
      at,
      timer: setTimeout(() => {
        nap = undefined
        loop.wake()
      }, at - nowMs),
    }
  }

  const loop = runLoop({ name: 'fulfilment', log: deps.log, loops: deps.loops, pollMs: POLL_MS, pass })
  const unsubscribe = deps.wake.on('fulfilment', () => loop.wake())
  return {
    wake: () => loop.wake(),
    async stop(deadlineMs) {
      unsubscribe()
      const startedAt = deps.clock.monotonic()
      await loop.stop(deadlineMs)
      clearTimeout(nap?.timer)
      // Calls that were sent are waited for; what is left at the deadline is taken over when its lease runs out.
      const leftMs = deadlineMs - (deps.clock.monotonic() - startedAt)
      await settlesWithin(Promise.all(working), Math.max(0, leftMs))
    },
  }
}

/** A claim that fails is tried on single orders; the one that fails alone is put off, so that it blocks nobody. */
async function claimWell(deps: FulfilmentDeps, tenantId: string): Promise<Claim | undefined> {
  try {
    return await claimDueOrders(deps, tenantId, CLAIM_ORDERS_MAX)
  } catch (error) {
    if (isConnectionLoss(error)) throw error
    deps.log.error({ err: error, tenantId }, 'a claim failed: trying one order')
  }
  try {
    return await claimDueOrders(deps, tenantId, 1)
  } catch (error) {
    if (isConnectionLoss(error)) throw error
    deps.log.error({ err: error, tenantId, waitMs: POISONED_MS }, 'an order cannot be claimed: it is put off')
    await postponeFirstOrder(deps.db, tenantId, POISONED_MS)
    return undefined
  }
}
