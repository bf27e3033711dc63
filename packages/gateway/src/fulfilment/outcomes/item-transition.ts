import type { DeliveredEsim, Outcome, SupplierTraits } from '@dealer-esim/wholesalers/supplier.ts'
import type { LockedItem } from '#orders/lock-orders.ts'

/** The effect of an outcome on its item. */
export type Transition =
  | { to: 'DELIVERED'; esim: DeliveredEsim }
  /** The package was added to the eSIM. */
  | { to: 'TOPPED_UP'; added: ToppedUp }
  /** The item is refunded. */
  | { to: 'REFUSED'; message: string }
  /** The item is bought from the next supplier of its package. */
  | { to: 'NEXT_ROUTE'; message: string }
  | { to: 'WAITING'; message: string; retryAt: Date }
  /** The item is bought from the first supplier that can sell, starting with its current one. */
  | { to: 'ANY_ROUTE'; message: string; retryAt: Date }
  | { to: 'UNKNOWN'; message: string; retryAt: Date; inDoubtAt: Date }
  | { to: 'REVIEW'; message: string; retryAt: Date; inDoubtAt: Date | null }
  /** The item is closed or has another eSIM, so this one is kept as an orphan. */
  | { to: 'ORPHAN'; esim: DeliveredEsim }
  /** The package was added although the item has been refunded. It cannot be taken back. */
  | { to: 'ORPHAN_TOP_UP' }
  | { to: 'SAME' }

type ToppedUp = Extract<Outcome, { kind: 'toppedUp' }>

export interface OutcomeContext {
  now: Date
  /** When the attempt was committed. */
  startedAt: Date
  operation: 'ORDER' | 'TOPUP' | 'QUERY'
  /** Start of the latest earlier purchase that the supplier may still be processing, or null. */
  doubtSince: Date | null
  traits: Pick<SupplierTraits, 'timeoutMs' | 'graceMs' | 'giveUpAfterMs' | 'queryBuys' | 'findsLate'>
  /** ICCID of the eSIM that the item already has. */
  deliveredIccid: string | undefined
  /** True if the package lists another supplier after the item's current one. */
  hasNextRoute: boolean
  /** From 0 to 1: spreads retries. */
  jitter: number
}

/** A worker must send its call within this time after starting its claim, or not at all. */
export const SEND_WITHIN_MS = 3_000
/** Applies even if the supplier asks for an immediate retry. */
const SOONEST_RETRY_MS = 500
const FIRST_RETRY_MS = 1_000
export const LONGEST_RETRY_MS = 60_000

/**
 * Decides what a supplier's answer does to an item, by the order state rules: a definite refusal is refunded, an unknown
 * outcome is never bought again or refunded on a guess. Pure.
 *
 *   toppedUp            → TOPPED_UP; ORPHAN_TOP_UP if the item is refunded
 *   delivered           → DELIVERED; ORPHAN if the item is closed or has another eSIM
 *   refused, retry      → final only once no earlier purchase can still be running; UNKNOWN until then
 *   refused             → the next supplier, or REFUSED
 *   retry, no money     → ANY_ROUTE; WAITING if there is no other supplier, for as long as it takes: the next claim
 *                         decides when, by the supplier's gate
 *   retry               → WAITING, bought again later; past the deadline REVIEW, bought again occasionally
 *   ordered, unknown    → UNKNOWN, asked again later; past the deadline REVIEW, asked again occasionally
 */
export function transition(item: LockedItem, outcome: Outcome, context: OutcomeContext): Transition {
  if (outcome.kind === 'delivered') return transitionOnDelivery(item, outcome.esim, context.deliveredIccid)
  if (outcome.kind === 'toppedUp') return transitionOnTopUp(item, outcome)
  const isAwaited = item.itemStatus === 'ASKED' || item.itemStatus === 'UNKNOWN' || item.itemStatus === 'REVIEW'
  if (!isAwaited) return { to: 'SAME' }
  const { message } = outcome
  const reviewed = item.itemStatus === 'REVIEW'
  if (outcome.kind === 'unknown' || outcome.kind === 'ordered') {
    const inDoubtAt = doubtAfter(context)
    if (reviewed || isLate(item, context, context.now)) return review(item, message, context, inDoubtAt)
    return { to: 'UNKNOWN', message, inDoubtAt, retryAt: addMs(context.now, backoff(item, context)) }
  }
  // This attempt was answered, so it leaves no doubt. Only an earlier one may still be running.
  const { doubtSince } = context
  const quietFrom = doubtSince === null ? undefined : mayBeRunningUntil(doubtSince, context.traits)
  if (doubtSince !== null && quietFrom !== undefined && quietFrom > context.now) {
    // A longer wait would look like a time set by a wrong clock. A query in between does no harm.
    const waitMs = context.traits.findsLate ? backoff(item, context) : LONGEST_RETRY_MS
    const retryAt = new Date(Math.min(addMs(context.now, waitMs).getTime(), quietFrom.getTime()))
    return { to: reviewed ? 'REVIEW' : 'UNKNOWN', message, inDoubtAt: doubtSince, retryAt }
  }
  if (outcome.kind === 'refused') return { to: context.hasNextRoute ? 'NEXT_ROUTE' : 'REFUSED', message }
  if (outcome.noMoney && context.operation !== 'QUERY' && !reviewed) {
    const retryAt = addMs(context.now, SOONEST_RETRY_MS)
    return { to: context.hasNextRoute ? 'ANY_ROUTE' : 'WAITING', message, retryAt }
  }
  // Waiting for a doubt to end does not count against the time for buying, so a crashed worker does not cause a review.
  const late = reviewed || isLate(item, context, doubtSince ?? context.now)
  if (context.operation === 'QUERY') {
    const buyNow = { message, retryAt: context.now }
    return late ? { to: 'REVIEW', ...buyNow, inDoubtAt: null } : { to: 'WAITING', ...buyNow }
  }
  if (late) return review(item, message, context, null)
  const requestedMs = outcome.afterMs ?? backoff(item, context)
  const waitMs = Math.min(LONGEST_RETRY_MS, Math.max(SOONEST_RETRY_MS, requestedMs))
  return { to: 'WAITING', message, retryAt: addMs(context.now, waitMs) }
}

/** The start of the doubt after an unknown outcome. A query that buys nothing leaves the doubt unchanged. */
function doubtAfter({ operation, doubtSince, startedAt, traits }: OutcomeContext): Date {
  return operation !== 'QUERY' || traits.queryBuys ? startedAt : (doubtSince ?? startedAt)
}

/** Decides what a delivered top-up does to an item, with or without an attempt. */
export function transitionOnTopUp(item: LockedItem, added: ToppedUp): Transition {
  switch (item.itemStatus) {
    case 'WAITING':
    case 'ASKED':
    case 'UNKNOWN':
    case 'REVIEW':
      return { to: 'TOPPED_UP', added }
    case 'DELIVERED':
      return { to: 'SAME' }
    case 'REFUSED':
    case 'CANCELLED':
      return { to: 'ORPHAN_TOP_UP' }
    default:
      return item.itemStatus satisfies never
  }
}

/** Decides what a delivered eSIM does to an item, with or without an attempt. */
export function transitionOnDelivery(
  item: LockedItem,
  esim: DeliveredEsim,
  deliveredIccid: string | undefined,
): Transition {
  switch (item.itemStatus) {
    case 'WAITING':
    case 'ASKED':
    case 'UNKNOWN':
    case 'REVIEW':
      return { to: 'DELIVERED', esim }
    case 'DELIVERED':
      return deliveredIccid === esim.iccid ? { to: 'SAME' } : { to: 'ORPHAN', esim }
    case 'REFUSED':
    case 'CANCELLED':
      return { to: 'ORPHAN', esim }
    default:
      return item.itemStatus satisfies never
  }
}

export const REVIEW_WAIT_MIN_MS = 60_000
export const REVIEW_WAIT_MAX_MS = 3_600_000

/** Waits as long again as the item has been open: at least a minute, at most an hour. */
function review(item: LockedItem, message: string, context: OutcomeContext, inDoubtAt: Date | null): Transition {
  const waitMs = reviewWaitMs(item.requestedAt ?? context.startedAt, context.now)
  return { to: 'REVIEW', message, retryAt: addMs(context.now, waitMs), inDoubtAt }
}

export function reviewWaitMs(requestedAt: Date, now: Date): number {
  return Math.min(REVIEW_WAIT_MAX_MS, Math.max(REVIEW_WAIT_MIN_MS, now.getTime() - requestedAt.getTime()))
}

/** The time at which a purchase that began at `inDoubtAt` has certainly ended, here and at the supplier. */
export function mayBeRunningUntil(inDoubtAt: Date, traits: Pick<SupplierTraits, 'timeoutMs' | 'graceMs'>): Date {
  return addMs(inDoubtAt, SEND_WITHIN_MS + traits.timeoutMs + traits.graceMs)
}

function isLate(item: LockedItem, context: OutcomeContext, at: Date): boolean {
  return isPast(item.requestedAt ?? context.startedAt, context.traits.giveUpAfterMs, at)
}

export function isPast(since: Date, allowedMs: number, now: Date): boolean {
  return addMs(since, allowedMs) <= now
}

/** 1 s, 2 s, 4 s … up to a minute, then a random share between half and all of it. */
function backoff(item: LockedItem, context: OutcomeContext): number {
  const fullMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, Math.max(0, item.attempts - 1)))
  return fullMs * (0.5 + context.jitter / 2)
}

function addMs(from: Date, byMs: number): Date {
  return new Date(from.getTime() + Math.ceil(byMs))
}
