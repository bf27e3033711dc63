import { isConnectionLoss } from '../lib/postgres/errors.ts'
import { type ObservedPrice, recordPrice } from '../suppliers/prices.ts'
import type { Charge, Outcome } from '../suppliers/supplier.ts'
import { callSupplier, groupIntoCalls, type SupplierCall } from './call-supplier.ts'
import type { Claim } from './claiming/claim.ts'
import { LEASE_MS, renewLeases } from './claiming/due-orders.ts'
import type { ItemResult } from './outcomes/attempts.ts'
import type { FulfilmentDeps } from './outcomes/deps.ts'
import { acceptLateEsims, saveOutcomes } from './outcomes/save-outcomes.ts'

const RENEW_MS = LEASE_MS / 3
/** Saving an outcome is retried while the database is unreachable and the lease is renewed. */
const SAVE_TRIES = 5
const FIRST_PAUSE_MS = 200

/**
 * Runs a claim: sends its attempts to all suppliers at once, saves the outcomes of each call as it returns, and renews
 * the leases meanwhile. A supplier that hangs delays only its own items.
 * @returns when the first of the orders is due again.
 */
export async function runClaim(deps: FulfilmentDeps, claim: Claim, startedAt: number): Promise<Date | undefined> {
  const { tenantId, leaseToken } = claim
  const openAttempts = new Map<string, number>()
  for (const { orderId } of claim.attempts) openAttempts.set(orderId, (openAttempts.get(orderId) ?? 0) + 1)
  const isBusy = (orderId: string) => (openAttempts.get(orderId) ?? 0) > 0
  let nextDueAt = claim.nextDueAt
  let unsaved: ItemResult[] = claim.refusals.map(({ orderId, itemNo, message }) => ({
    orderId,
    itemNo,
    outcome: { kind: 'refused', message },
  }))
  let saving: Promise<void> | undefined

  async function saveAll(): Promise<void> {
    while (unsaved.length > 0) {
      const results = unsaved
      unsaved = []
      for (const { orderId, attempt } of results) {
        if (attempt !== undefined) openAttempts.set(orderId, openAttempts.get(orderId)! - 1)
      }
      nextDueAt = earlier(nextDueAt, await saveWithRetry(deps, tenantId, { leaseToken, isBusy }, results))
    }
    saving = undefined
  }

  async function run(call: SupplierCall): Promise<void> {
    const results = await callSupplier(deps, tenantId, call, startedAt)
    unsaved.push(...results)
    saving ??= saveAll()
    await saving
    await recordSupplierPrices(deps, results)
  }

  const renewing = setInterval(() => {
    const held = [...openAttempts.keys()].filter(isBusy)
    renewLeases(deps.db, tenantId, leaseToken, held).catch((error) =>
      deps.log.warn({ err: error }, 'a lease could not be renewed'),
    )
  }, RENEW_MS)
  try {
    if (unsaved.length > 0) saving = saveAll()
    await Promise.all([...groupIntoCalls(claim.attempts).map(run), saving])
  } finally {
    clearInterval(renewing)
  }
  return nextDueAt
}

function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}

interface HeldLease {
  leaseToken: string
  isBusy(orderId: string): boolean
}

/**
 * Saves results under the lease, and tries again while the database is unreachable. A batch that fails for another reason
 * is split, so that one eSIM that cannot be saved does not affect the others. That eSIM is saved as unknown instead, and
 * goes to review if it never can be saved.
 * @returns when the first of the orders is due again.
 */
async function saveWithRetry(
  deps: FulfilmentDeps,
  tenantId: string,
  lease: HeldLease,
  results: ItemResult[],
): Promise<Date | undefined> {
  for (let failures = 1; ; failures++) {
    try {
      const { lost, nextDueAt } = await saveOutcomes(deps, tenantId, lease, results)
      if (lost.length > 0) {
        deps.log.warn({ tenantId, items: lost.length }, 'outcomes arrived after their lease was lost')
        await acceptLateEsims(deps, tenantId, lost)
      }
      return nextDueAt
    } catch (error) {
      const unreachable = isConnectionLoss(error)
      if (unreachable && failures < SAVE_TRIES) {
        await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** failures))
        continue
      }
      const parts = unreachable ? [] : split(lease, results)
      if (results.length === 1 || parts.length === 0) {
        // Without parts the attempts stay open. The worker that takes the orders over asks the supplier about them.
        const orders = [...new Set(results.map((result) => result.orderId))]
        deps.log.error({ err: error, tenantId, orders }, 'outcomes could not be saved')
      }
      let nextDueAt: Date | undefined
      for (const part of parts) {
        nextDueAt = earlier(nextDueAt, await saveWithRetry(deps, tenantId, part.lease, part.results))
      }
      return nextDueAt
    }
  }
}

/** Smaller batches to save, one after the other, instead of one that failed. None: nothing more can be tried. */
function split(lease: HeldLease, results: readonly ItemResult[]): { lease: HeldLease; results: ItemResult[] }[] {
  const orders = [...new Set(results.map((result) => result.orderId))]
  if (orders.length > 1) {
    return orders.map((orderId) => ({ lease, results: results.filter((result) => result.orderId === orderId) }))
  }
  if (results.length > 1) {
    // The last one releases the order.
    return results.map((result, index) => {
      const isBusy = (orderId: string) => index < results.length - 1 || lease.isBusy(orderId)
      return { lease: { ...lease, isBusy }, results: [result] }
    })
  }
  return results
    .filter(({ attempt, outcome }) => attempt !== undefined && outcome.kind !== 'unknown')
    .map((result) => ({ lease, results: [{ ...result, outcome: UNSAVABLE }] }))
}

const UNSAVABLE: Outcome = { kind: 'unknown', message: 'the supplier’s answer could not be saved: see the log' }

/**
 * Records the prices at which suppliers sell now, after the orders are saved: a price that cannot be recorded is seen
 * again at the next purchase. The answer to a query may be about an old purchase and is not used.
 */
async function recordSupplierPrices(
  deps: Pick<FulfilmentDeps, 'db' | 'log'>,
  results: readonly ItemResult[],
): Promise<void> {
  for (const { attempt, outcome } of results) {
    const price = priceIn(outcome)
    if (attempt?.operation !== 'ORDER' || price === undefined) continue
    const { supplied, productCode, startedAt: seenAt } = attempt
    const seen: ObservedPrice = { supplier: supplied.supplier.name, productCode, price, seenAt }
    await recordPrice(deps.db, seen).catch((error) =>
      deps.log.warn({ err: error, supplier: seen.supplier, productCode }, 'a supplier price could not be recorded'),
    )
  }
}

function priceIn(outcome: Outcome): Charge | undefined {
  switch (outcome.kind) {
    case 'delivered':
      return outcome.esim.charged
    case 'unknown':
      return outcome.charged
    case 'refused':
      return outcome.price
    case 'retry':
      return undefined
    default:
      return outcome satisfies never
  }
}
