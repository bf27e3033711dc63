import { groupBy } from '@dealer-esim/lib/batch.ts'
import { isConnectionLoss, isContended } from '@dealer-esim/lib/postgres/errors.ts'
import type { Charge, Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import type { KeptOrder } from '#orders/lock-orders.ts'
import { recordMoney } from '#suppliers/balance/lack-of-money.ts'
import { seePurchases } from '#suppliers/state/see-purchases.ts'
import { type ObservedPrice, recordPrice } from '#suppliers/supplier-prices.ts'
import type { Claim } from './claim-orders.ts'
import { LEASE_MS, renewLeases } from './order-lease.ts'
import type { HeldLease } from './outcomes/apply-outcome.ts'
import type { FulfilmentDeps } from './outcomes/outcome-deps.ts'
import type { Attempt, ItemResult } from './outcomes/outcome-items.ts'
import { acceptLateEsims, saveAsked, saveOutcomes } from './outcomes/save-outcomes.ts'
import { callSupplier, groupIntoCalls, type SupplierCall } from './supplier-calls.ts'

const RENEW_MS = LEASE_MS / 3
/**
 * If a supplier takes longer than this to answer, its orders are shown as ALLOCATING until it does, with a separate event.
 */
const ASKED_AFTER_MS = 1_000
/** Saving an outcome is retried while the database is unreachable and the lease is renewed. */
const SAVE_TRIES = 5
const FIRST_PAUSE_MS = 200

/**
 * Runs a claim: sends its attempts to all suppliers at the same time, and saves the outcomes of each call as it returns,
 * while renewing the leases. A supplier that hangs delays only its own items.
 * @returns when the first of the orders is due again.
 */
export async function runClaim(deps: FulfilmentDeps, claim: Claim, startedAt: number): Promise<Date | undefined> {
  const { tenantId, leaseToken } = claim
  const attempts = groupBy(claim.attempts, ({ orderId }) => orderId)
  const openAttempts = new Map([...attempts].map(([orderId, own]) => [orderId, own.length]))
  const isBusy = (orderId: string) => (openAttempts.get(orderId) ?? 0) > 0
  const unanswered = new Set(claim.attempts)
  const isUnwritten = (attempt: Attempt) => attempt.unwritten !== undefined
  const unwritten = (orderId: string) => (attempts.get(orderId) ?? []).filter(isUnwritten)
  const lease: HeldLease = { leaseToken, isBusy, unwritten, takeKept: (orderIds) => takeKept(claim, orderIds) }
  let nextDueAt = claim.nextDueAt
  let unsaved: ItemResult[] = claim.refusals.map(({ orderId, itemNo, message }) => ({
    orderId,
    itemNo,
    outcome: { kind: 'refused', message },
  }))
  let isSlow = false
  let saving: Promise<void> | undefined

  async function saveAll(): Promise<void> {
    while (unsaved.length > 0 || isSlow) {
      if (unsaved.length === 0) await saveSlow()
      const results = unsaved
      unsaved = []
      for (const { orderId, attempt } of results) {
        if (attempt !== undefined) openAttempts.set(orderId, openAttempts.get(orderId)! - 1)
      }
      if (results.length > 0) nextDueAt = earlier(nextDueAt, await saveWithRetry(deps, tenantId, lease, results))
    }
    saving = undefined
  }

  async function saveSlow(): Promise<void> {
    isSlow = false
    const slow = [...unanswered].filter(isUnwritten)
    if (slow.length === 0) return
    await saveAsked(deps, tenantId, lease, slow).catch((error) =>
      deps.log.warn({ err: error, tenantId }, 'orders that take long could not be shown as ALLOCATING'),
    )
  }

  async function run(call: SupplierCall): Promise<void> {
    const results = await callSupplier(deps, tenantId, call, startedAt)
    for (const attempt of call) unanswered.delete(attempt)
    unsaved.push(...results)
    saving ??= saveAll()
    await saving
    await recordSupplierPrices(deps, results)
    await recordSupplierMoney(deps, call, results)
    await recordSeen(deps, call, results)
  }

  const renewing = setInterval(() => {
    const held = [...openAttempts.keys()].filter(isBusy)
    renewLeases(deps.db, tenantId, leaseToken, held).catch((error) =>
      deps.log.warn({ err: error }, 'a lease could not be renewed'),
    )
  }, RENEW_MS)
  const slow = setTimeout(() => {
    isSlow = true
    saving ??= saveAll()
  }, ASKED_AFTER_MS)
  try {
    if (unsaved.length > 0) saving = saveAll()
    await Promise.all([...groupIntoCalls(claim.attempts).map(run), saving])
    clearTimeout(slow)
    await saving
  } finally {
    clearTimeout(slow)
    clearInterval(renewing)
  }
  return nextDueAt
}

function takeKept({ kept }: Claim, orderIds: readonly string[]): ReadonlyMap<string, KeptOrder> | undefined {
  const taken = new Map<string, KeptOrder>()
  for (const orderId of orderIds) {
    const order = kept.get(orderId)
    kept.delete(orderId)
    if (order !== undefined) taken.set(orderId, order)
  }
  return taken.size === orderIds.length ? taken : undefined
}

function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}

/**
 * Saves results under the lease. Retries the whole batch while the database is unreachable or another transaction is in the
 * way: parts of it would only wait for the same locks one after another, and hold up the results behind them while leases
 * are renewed. A batch that fails for another reason is split, so that one eSIM that cannot be saved does not affect the
 * others. That eSIM is saved as unknown instead, and goes to review if it can never be saved.
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
      const unreachable = isConnectionLoss(error) || isContended(error)
      if (unreachable && failures < SAVE_TRIES) {
        await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** failures))
        continue
      }
      const parts = unreachable ? [] : split(lease, results)
      if (results.length === 1 || parts.length === 0) {
        // If a batch cannot be split, its attempts stay open. The worker that takes over the orders queries the supplier
        // about them.
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

/** Splits a failed batch into smaller ones, to be saved one by one. Returns none if nothing more can be tried. */
function split(lease: HeldLease, results: readonly ItemResult[]): { lease: HeldLease; results: ItemResult[] }[] {
  const orders = [...new Set(results.map((result) => result.orderId))]
  if (orders.length > 1) {
    return orders.map((orderId) => ({ lease, results: results.filter((result) => result.orderId === orderId) }))
  }
  if (results.length > 1) {
    // The last part releases the order.
    return results.map((result, index) => {
      const isBusy = (orderId: string) => index < results.length - 1 || lease.isBusy(orderId)
      return { lease: { ...lease, isBusy }, results: [result] }
    })
  }
  return results
    .filter(({ attempt, outcome }) => attempt !== undefined && outcome.kind !== 'unknown')
    .map((result) => ({ lease, results: [{ ...result, outcome: NOT_SAVED }] }))
}

const NOT_SAVED: Outcome = { kind: 'unknown', message: 'the supplier’s answer could not be saved: see the log' }

/** After this time the answer to a query says nothing about today's price. */
const QUERIED_PRICE_MAX_MS = 3_600_000

/**
 * Records the prices at which suppliers currently sell. Runs after the orders are saved: if a price cannot be recorded, the
 * next purchase shows it again. Some suppliers report the price only in a query; it then counts from the first request on.
 */
async function recordSupplierPrices(
  deps: Pick<FulfilmentDeps, 'db' | 'log'>,
  results: readonly ItemResult[],
): Promise<void> {
  for (const { attempt, outcome } of results) {
    const price = priceIn(outcome, attempt?.periodNum ?? 1)
    if (attempt === undefined || price === undefined) continue
    const { supplied, productCode, operation, startedAt, requestedAt } = attempt
    const seenAt = operation === 'QUERY' ? requestedAt : startedAt
    if (startedAt.getTime() - seenAt.getTime() > QUERIED_PRICE_MAX_MS) continue
    const seen: ObservedPrice = { supplier: supplied.supplier.name, productCode, price, seenAt }
    await recordPrice(deps.db, seen).catch((error) =>
      deps.log.warn({ err: error, supplier: seen.supplier, productCode }, 'a supplier price could not be recorded'),
    )
  }
}

/** Records whether the supplier lacks money. Runs after the orders are saved: if it fails, the next purchase shows it again. */
async function recordSupplierMoney(
  deps: FulfilmentDeps,
  [{ supplied, operation }]: SupplierCall,
  results: readonly ItemResult[],
): Promise<void> {
  if (operation === 'QUERY') return
  const outcomes = results.map(({ outcome }) => outcome)
  await recordMoney(deps, supplied, outcomes).catch((error) =>
    deps.log.warn({ err: error, supplier: supplied.supplier.name }, 'a supplier’s lack of money could not be recorded'),
  )
}

/** Records whether the supplier was seen to work. Runs after the orders are saved: if it fails, the next purchase shows it. */
async function recordSeen(
  deps: FulfilmentDeps,
  [{ supplied, startedAt }]: SupplierCall,
  results: readonly ItemResult[],
): Promise<void> {
  const outcomes = results.map(({ outcome }) => outcome)
  await seePurchases(deps, supplied, outcomes, startedAt).catch((error) =>
    deps.log.warn({ err: error, supplier: supplied.supplier.name }, 'the state of a supplier could not be recorded'),
  )
}

/** The price in an outcome. Prices of day passes are for one day, but the supplier charges for all days. */
function priceIn(outcome: Outcome, days: number): Charge | undefined {
  switch (outcome.kind) {
    case 'delivered':
      return perDay(outcome.esim.charged, days)
    case 'toppedUp':
    case 'ordered':
    case 'unknown':
      return perDay(outcome.charged, days)
    case 'refused':
      return outcome.price
    case 'retry':
      return undefined
    default:
      return outcome satisfies never
  }
}

function perDay(charged: Charge | undefined, days: number): Charge | undefined {
  return charged && { ...charged, amount: charged.amount / BigInt(days) }
}
