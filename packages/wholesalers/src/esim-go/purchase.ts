import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { iccidOf } from '#members.ts'
import type { Outcome, SupplierRequest } from '#supplier.ts'
import type { EsimGoClient } from './client.ts'
import { type EsimGoOrder, orderOf } from './decode.ts'
import { readOrders } from './lists.ts'
import { outcomeOfFind, outcomeOfOrder, outcomeOfPurchase } from './outcome.ts'
import type { OrderStore, PlacedOrder } from './progress.ts'

export interface EsimGoContext {
  client: EsimGoClient
  store: OrderStore
  /** eSIM Go may create an order up to this long after it was claimed. */
  sendingMs: number
  /** How long a purchase waits in its call while another purchase of its bundle is in progress. */
  claimWaitMs: number
  /** Others buy with the same account too. */
  isShared: boolean
}

/** eSIM Go's clock and the database's may differ by this much. */
export const CLOCK_TOLERANCE_MS = 60_000
/**
 * A search begins this long before our order. With a wrong clock, the order then goes to review instead of being bought again.
 */
const SEARCH_BEFORE_MS = 10 * 60_000
/** When a call queries the order that it has just placed, if the answer did not deliver it. */
export const CHECK_AFTER_MS: readonly number[] = [500, 1_500]
export const CLAIM_WAIT_MAX_MS = 2_000
const CLAIM_POLL_MS = 150
/** A purchase that found its bundle claimed is tried again after this time. */
const BUSY_WAIT_MS = 1_000

/** Buys a new eSIM or a top-up. If an order was already placed with this key, only queries it. */
export async function order(context: EsimGoContext, request: SupplierRequest): Promise<Outcome> {
  const { client, store } = context
  const { key, productCode, topUp } = request
  const made = await store.find(key)
  if (made?.reference) return find(context, request, made.reference)
  if (!(await claimInTurn(context, request))) {
    return { kind: 'retry', message: 'another purchase of this bundle is under way', afterMs: BUSY_WAIT_MS }
  }
  await failpoint('esim-go.before-order')
  const placed = outcomeOfOrder(await client.order(productCode, topUp?.iccid))
  await failpoint('esim-go.ordered')
  if (placed.kind === 'placed') {
    const found = orderOf(placed.order)
    if (found !== undefined) return untilDelivered(context, request, found)
    // The order was placed: its reference identifies it, even if the rest of the answer is unreadable.
    await store.save(key, { reference: placed.reference, iccid: undefined, productCode })
    return find(context, request, placed.reference)
  }
  if (placed.kind === 'unknown') return searchAtOnce(context, request, placed)
  await store.release(key)
  return placed
}

/**
 * Searches immediately, because the next purchase of the bundle waits for this one. If nothing is found, the outcome stays
 * unknown: the order may still be placed.
 */
async function searchAtOnce(context: EsimGoContext, request: SupplierRequest, unknown: Outcome): Promise<Outcome> {
  const found = await query(context, request)
  return found.kind === 'retry' || found.kind === 'unknown' ? unknown : found
}

async function claimInTurn({ store, claimWaitMs }: EsimGoContext, request: SupplierRequest): Promise<boolean> {
  const deadline = systemClock.monotonic() + claimWaitMs
  while (!(await store.claim(request))) {
    if (systemClock.monotonic() >= deadline) return false
    await delay(CLAIM_POLL_MS)
  }
  return true
}

async function untilDelivered(context: EsimGoContext, request: SupplierRequest, placed: EsimGoOrder): Promise<Outcome> {
  let outcome = await accept(context, request, placed)
  for (const waitMs of CHECK_AFTER_MS) {
    if (outcome.kind !== 'ordered') break
    await delay(waitMs)
    const next = await find(context, request, placed.reference)
    if (next.kind !== 'unknown') outcome = next
  }
  return outcome
}

/** Records the order under our key before its eSIM is accepted. */
async function accept({ store }: EsimGoContext, request: SupplierRequest, found: EsimGoOrder): Promise<Outcome> {
  const outcome = outcomeOfPurchase(found, request)
  const iccid = outcome.kind === 'delivered' ? outcome.esim.iccid : undefined
  await store.save(request.key, { reference: found.reference, iccid, productCode: request.productCode })
  return outcome
}

/** Queries the outcome of an order; nothing is bought. */
export async function query(context: EsimGoContext, request: SupplierRequest): Promise<Outcome> {
  const placed = await context.store.find(request.key)
  if (placed === undefined) return { kind: 'retry', message: 'the order was never sent' }
  if (placed.reference !== null) return find(context, request, placed.reference)
  return search(context, request, placed)
}

async function find(context: EsimGoContext, request: SupplierRequest, reference: string): Promise<Outcome> {
  const answer = await context.client.get(`/orders/${encodeURIComponent(reference)}`)
  const outcome = outcomeOfFind(answer, reference, request)
  if (outcome.kind === 'delivered') {
    const { iccid } = outcome.esim
    await context.store.save(request.key, { reference, iccid, productCode: request.productCode })
  }
  return outcome
}

/**
 * Looks for an order whose answer was lost among the recent orders of its bundle that do not belong to another key. It is
 * ours if no other was created in its time span: nothing else distinguishes it from a purchase by somebody else.
 */
async function search(context: EsimGoContext, request: SupplierRequest, placed: PlacedOrder): Promise<Outcome> {
  if (context.isShared) {
    return {
      kind: 'unknown',
      message: 'others buy with this account, so the order cannot be distinguished from theirs',
    }
  }
  const unclaimed: EsimGoOrder[] = []
  try {
    for await (const { orders, unreadable, time } of readOrders(context.client, searchFrom(placed))) {
      if (time !== undefined && differ(time, placed.now)) {
        return { kind: 'unknown', message: 'the clocks of eSIM Go and of the database differ: correct the database’s' }
      }
      const [odd] = unreadable
      if (odd !== undefined) {
        return { kind: 'unknown', message: `eSIM Go’s list has an unreadable order: ${odd.entry}` }
      }
      const matching = orders.filter((found) => found.bundle === placed.productCode && isFor(found, request))
      const known = await context.store.findKeys(matching.map(({ reference }) => reference))
      unclaimed.push(...matching.filter(({ reference }) => !known.has(reference)))
    }
  } catch (error) {
    return { kind: 'unknown', message: error instanceof Error ? error.message : String(error) }
  }
  const [found, ...others] = unclaimed.filter(({ createdAt }) => isInTime(createdAt, placed, context.sendingMs))
  if (found !== undefined && others.length === 0) return accept(context, request, found)
  if (unclaimed.length === 0) return { kind: 'retry', message: 'eSIM Go has no such order' }
  const references = unclaimed.map(({ reference }) => reference).join(', ')
  return { kind: 'unknown', message: `eSIM Go has an order that may be this one or another buyer's: ${references}` }
}

/** The start of the search: early enough even if the clock was set back. */
function searchFrom({ sentAt, now }: PlacedOrder): Date {
  return new Date(Math.min(sentAt.getTime(), now.getTime()) - SEARCH_BEFORE_MS)
}

function differ(one: Date, other: Date): boolean {
  return Math.abs(one.getTime() - other.getTime()) > CLOCK_TOLERANCE_MS
}

/** @returns whether the order was created in our time span. An order without a time may have been. */
function isInTime(createdAt: Date | undefined, { sentAt }: PlacedOrder, sendingMs: number): boolean {
  if (createdAt === undefined) return true
  const afterMs = createdAt.getTime() - sentAt.getTime()
  return afterMs >= -CLOCK_TOLERANCE_MS && afterMs <= sendingMs + CLOCK_TOLERANCE_MS
}

/**
 * @returns whether the order may be for our eSIM: a top-up names its eSIM only once it is carried out, and an unreadable
 * eSIM may be ours
 */
function isFor({ esims, hasOddEsims }: EsimGoOrder, { topUp }: Pick<SupplierRequest, 'topUp'>): boolean {
  if (topUp === undefined || esims.length === 0 || hasOddEsims) return true
  return esims.some((esim) => (iccidOf(esim) ?? topUp.iccid) === topUp.iccid)
}
