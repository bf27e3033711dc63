import { setTimeout as delay } from 'node:timers/promises'
import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import { isConnectionLoss, isContended, isOutOfResources } from '@dealer-esim/lib/postgres/errors.ts'
import { createWokenKeys } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type Loop, runLoop, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { CLAIM_ORDERS_MAX, type Claim, claimDueOrders } from './claim-orders.ts'
import { listDueTenants, postponeFirstOrder } from './order-lease.ts'
import type { FulfilmentDeps } from './outcomes/outcome-deps.ts'
import { runClaim } from './run-claim.ts'

/** The maximum delay of an order whose wakeup was lost. */
const POLL_MS = 500
/** Tenants per pass. */
const TENANTS_MAX = 64
const CONCURRENT_CLAIMS = 4
/**
 * The number of orders that this node holds simultaneously. Limits memory, and how many orders a crash leaves to other
 * nodes.
 */
const HELD_ORDERS_MAX = 4_000
/** Other work may keep all connections busy for a long time. After this time, claims compete for them. */
const CONNECTION_WAIT_MAX_MS = 100
/** An order that cannot be claimed is postponed by this much. */
const POISONED_MS = 60_000
/** The same if another transaction was in the way or the database lacked a resource: the order is not to blame. */
const BUSY_MS = 1_000
const SHORTEST_TIMER_MS = 5

/**
 * Delivers paid orders. Tenants with due orders take turns of one claim each, so a tenant with a million orders delays
 * another by one claim. The supplier calls of a claim run while the next claims are made.
 */
export function fulfilmentLoop(deps: FulfilmentDeps): Loop {
  const runningClaims = new Set<Promise<void>>()
  let heldOrders = 0
  const listNext = listInTurn(deps.db)
  const wokenTenants = createWokenKeys(deps.clock, POLL_MS)
  let timer: { atMs: number; handle: NodeJS.Timeout } | undefined

  /** Makes one claim for one tenant and starts running it. @returns whether the tenant may have more due orders. */
  async function claimAndRun(tenantId: string): Promise<boolean> {
    const startedAt = deps.clock.monotonic()
    const claim = await claimOrPostpone(deps, tenantId)
    if (claim === undefined) return true
    wakeAt(claim.nextDueAt)
    if (claim.attempts.length + claim.refusals.length > 0) {
      // Released orders do not count: otherwise one hanging call per claim would exhaust this node's limit.
      heldOrders += claim.heldCount
      const running = runClaim(deps, claim, startedAt)
        .then(wakeAt, (error) => deps.log.error({ err: error, tenantId }, 'a fulfilment claim failed'))
        .finally(() => {
          heldOrders -= claim.heldCount
          runningClaims.delete(running)
        })
      runningClaims.add(running)
    }
    return claim.orderCount === CLAIM_ORDERS_MAX
  }

  async function pass(): Promise<boolean> {
    const tenants = wokenTenants.take() ?? (await listNext())
    let more = tenants.length >= TENANTS_MAX
    const queue = [...tenants]
    const claimInTurn = async () => {
      for (let tenantId = queue.shift(); tenantId !== undefined; tenantId = queue.shift()) {
        while (heldOrders >= HELD_ORDERS_MAX) await Promise.race(runningClaims)
        await untilConnectionsAreFree()
        if (await claimAndRun(tenantId)) more = true
      }
    }
    await Promise.all(Array.from({ length: CONCURRENT_CLAIMS }, claimInTurn))
    if (more) wokenTenants.add()
    return more
  }

  /**
   * Waits while statements queue for a connection, because another claim would only queue too. Meanwhile more orders come
   * due, so claims are larger under load.
   */
  async function untilConnectionsAreFree(): Promise<void> {
    const startedAt = deps.clock.monotonic()
    while (deps.db.pool.waitingCount > 0 && deps.clock.monotonic() - startedAt < CONNECTION_WAIT_MAX_MS) {
      await delay(SHORTEST_TIMER_MS)
    }
  }

  /** Sets a timer for an order that is due before the next poll. */
  function wakeAt(dueAt: Date | undefined): void {
    if (dueAt === undefined) return
    const nowMs = deps.databaseClock.now()
    const atMs = Math.max(dueAt.getTime(), nowMs + SHORTEST_TIMER_MS)
    if (atMs > nowMs + POLL_MS || (timer !== undefined && timer.atMs <= atMs)) return
    clearTimeout(timer?.handle)
    const onTimer = () => {
      timer = undefined
      wokenTenants.add()
      loop.wake()
    }
    timer = { atMs, handle: setTimeout(onTimer, atMs - nowMs) }
  }

  const loop = runLoop(deps, 'fulfilment', POLL_MS, pass)
  const unsubscribe = deps.wake.on('fulfilment', (tenantIds) => {
    wokenTenants.add(tenantIds)
    loop.wake()
  })
  return {
    wake() {
      wokenTenants.add()
      loop.wake()
    },
    async stop(deadlineMs) {
      unsubscribe()
      const startedAt = deps.clock.monotonic()
      await loop.stop(deadlineMs)
      clearTimeout(timer?.handle)
      // Waits for calls that were sent. Calls still running at the deadline are left to other nodes, once their leases expire.
      const leftMs = deadlineMs - (deps.clock.monotonic() - startedAt)
      await settlesWithin(Promise.all(runningClaims), Math.max(0, leftMs))
    },
  }
}

/** Lists due tenants. Each call continues after the last tenant of the previous call, so every tenant gets its turn. */
function listInTurn(db: FulfilmentDeps['db']): () => Promise<string[]> {
  let last = LOWEST_UUID
  return async () => {
    let tenants = await listDueTenants(db, last, TENANTS_MAX)
    if (tenants.length < TENANTS_MAX && last !== LOWEST_UUID) {
      // The end of the list: continue at the beginning.
      const first = await listDueTenants(db, LOWEST_UUID, TENANTS_MAX - tenants.length)
      tenants = [...new Set([...tenants, ...first])]
    }
    last = tenants.at(-1) ?? LOWEST_UUID
    return tenants
  }
}

/**
 * Claims a single order if the whole claim fails, and postpones that order if it fails too, so that it does not block others.
 */
async function claimOrPostpone(deps: FulfilmentDeps, tenantId: string): Promise<Claim | undefined> {
  try {
    return await claimDueOrders(deps, tenantId, CLAIM_ORDERS_MAX)
  } catch (error) {
    if (isConnectionLoss(error)) throw error
    deps.log.error({ err: error, tenantId }, 'a claim failed: trying a single order')
  }
  try {
    return await claimDueOrders(deps, tenantId, 1)
  } catch (error) {
    if (isConnectionLoss(error)) throw error
    const waitMs = isContended(error) || isOutOfResources(error) ? BUSY_MS : POISONED_MS
    deps.log.error({ err: error, tenantId, waitMs }, 'an order cannot be claimed and is postponed')
    await postponeFirstOrder(deps.db, tenantId, waitMs)
    return undefined
  }
}
