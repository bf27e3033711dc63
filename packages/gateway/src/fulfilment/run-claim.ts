import { isConnectionLoss } from '../lib/postgres/errors.ts'
import { type SeenPrice, seePrice } from '../suppliers/prices.ts'
import type { Charge, Outcome } from '../suppliers/supplier.ts'
import { callSupplier, groupIntoCalls, type SupplierCall } from './call-supplier.ts'
import type { Claim } from './claiming/claim.ts'
import { LEASE_MS, renewLeases } from './claiming/due-orders.ts'
import type { ItemResult } from './outcomes/apply-outcome.ts'
import type { FulfilmentDeps } from './outcomes/deps.ts'
import { acceptLateEsims, saveOutcomes } from './outcomes/save-outcomes.ts'

const RENEW_MS = LEASE_MS / 3
/** The database may be away while an answer is in hand: it is worth some patience, while the lease is renewed. */
const TRIES_TO_WRITE = 5
const FIRST_PAUSE_MS = 200

/**
 * Carries a claim through: sends its attempts, all suppliers at once, writes each answer as it comes, and renews the
 * lease meanwhile. A supplier that hangs holds up nobody but its own items.
 * @returns when one of the orders is due again.
 */
export async function runClaim(deps: FulfilmentDeps, claim: Claim, begunAt: number): Promise<Date | undefined> {
  const { tenantId, leaseToken } = claim
  const underWay = new Map<string, number>()
  for (const { orderId } of claim.attempts) underWay.set(orderId, (underWay.get(orderId) ?? 0) + 1)
  let nextDue = claim.nextDueAt
  let waiting: ItemResult[] = claim.refusals.map(({ orderId, itemNo, words }) => ({
    orderId,
    itemNo,
    outcome: { kind: 'refused', words },
  }))
  let writing: Promise<void> | undefined

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const results = waiting
      waiting = []
      for (const { orderId, attempt } of results) {
        if (attempt !== undefined) underWay.set(orderId, underWay.get(orderId)! - 1)
      }
      const isBusy = (orderId: string) => (underWay.get(orderId) ?? 0) > 0
      const done = await writeResults(deps, tenantId, { leaseToken, isBusy }, results)
      if (done !== undefined && (nextDue === undefined || done < nextDue)) nextDue = done
    }
    writing = undefined
  }

  async function carry(parcel: SupplierCall): Promise<void> {
    const results = await callSupplier(deps, tenantId, parcel, begunAt)
    waiting.push(...results) // `waiting` as it is now: another parcel's writing may have taken the one before
    writing ??= writeWaiting()
    await writing
    await recordSupplierPrices(deps, results)
  }

  const renewing = setInterval(() => {
    const held = [...underWay].filter(([, count]) => count > 0).map(([orderId]) => orderId)
    renewLeases(deps.db, tenantId, leaseToken, held).catch((error) =>
      deps.log.warn({ err: error }, 'lease not renewed'),
    )
  }, RENEW_MS)
  try {
    if (waiting.length > 0) writing = writeWaiting()
    await Promise.all([...groupIntoCalls(claim.attempts).map(carry), writing])
  } finally {
    clearInterval(renewing)
  }
  return nextDue
}

interface LeaseHeld {
  leaseToken: string
  isBusy(orderId: string): boolean
}

/**
 * Writes results under the lease, again while the database is away. What fails for another reason is split, so that one
 * eSIM that cannot be written does not keep the others; alone, it is in doubt, and comes to review if it stays like that.
 */
async function writeResults(
  deps: FulfilmentDeps,
  tenantId: string,
  standing: LeaseHeld,
  results: ItemResult[],
): Promise<Date | undefined> {
  for (let failures = 1; ; failures++) {
    try {
      const { lost, nextDue } = await saveOutcomes(deps, tenantId, standing, results)
      if (lost.length > 0) {
        deps.log.warn({ tenantId, items: lost.length }, 'outcomes came after their lease was lost')
        await acceptLateEsims(deps, tenantId, lost)
      }
      return nextDue
    } catch (error) {
      const away = isConnectionLoss(error)
      if (away && failures < TRIES_TO_WRITE) {
        await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** failures))
        continue
      }
      const parts = away ? [] : smaller(standing, results)
      if (results.length === 1 || parts.length === 0) {
        // Without parts their attempts stay open: whoever takes the orders over, when the lease has run out, asks about them.
        const orders = [...new Set(results.map((result) => result.orderId))]
        deps.log.error({ err: error, tenantId, orders }, 'outcomes could not be written')
      }
      let first: Date | undefined
      for (const part of parts) {
        const due = await writeResults(deps, tenantId, part.standing, part.results)
        if (due !== undefined && (first === undefined || due < first)) first = due
      }
      return first
    }
  }
}

/** What to write instead of results that could not be written together, one after the other: nothing, at the end. */
function smaller(
  standing: LeaseHeld,
  results: readonly ItemResult[],
): { standing: LeaseHeld; results: ItemResult[] }[] {
  const orders = [...new Set(results.map((result) => result.orderId))]
  if (orders.length > 1) {
    return orders.map((orderId) => ({ standing, results: results.filter((result) => result.orderId === orderId) }))
  }
  if (results.length > 1) {
    // The lease is handed back with the last of them.
    return results.map((result, index) => {
      const isBusy = (orderId: string) => index < results.length - 1 || standing.isBusy(orderId)
      return { standing: { ...standing, isBusy }, results: [result] }
    })
  }
  return results
    .filter(({ attempt, outcome }) => attempt !== undefined && outcome.kind !== 'unknown')
    .map((result) => ({ standing, results: [{ ...result, outcome: UNWRITABLE }] }))
}

const UNWRITABLE: Outcome = { kind: 'unknown', words: 'what the supplier answered cannot be written down: see the log' }

/**
 * Notes at which prices suppliers sell now. Beside the orders, not with them: no money waits for it, and what fails here is
 * seen again with the next purchase. A question tells of a purchase that may be long past, so that it says nothing of today.
 */
export async function recordSupplierPrices(
  deps: Pick<FulfilmentDeps, 'db' | 'log'>,
  results: readonly ItemResult[],
): Promise<void> {
  for (const { attempt, outcome } of results) {
    const price = priceIn(outcome)
    if (attempt?.operation !== 'ORDER' || price === undefined) continue
    const { supplied, productCode, startedAt: seenAt } = attempt
    const seen: SeenPrice = { supplier: supplied.supplier.name, productCode, price, seenAt }
    await seePrice(deps.db, seen).catch((error) =>
      deps.log.warn({ err: error, supplier: seen.supplier, productCode }, 'a price could not be noted'),
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
      return outcome.asks
    case 'retry':
      return undefined
    default:
      return outcome satisfies never
  }
}
