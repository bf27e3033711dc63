import type { LockedItem } from '../../orders/lock.ts'
import type { DeliveredEsim, Outcome, SupplierTraits } from '../../suppliers/supplier.ts'

/** What an outcome does to its item. */
export type Transition =
  | { to: 'DELIVERED'; esim: DeliveredEsim }
  /** Refund it. */
  | { to: 'REFUSED'; words: string }
  /** The next supplier of its package is asked. */
  | { to: 'NEXT_ROUTE'; words: string }
  | { to: 'WAITING'; words: string; retryAt: Date }
  | { to: 'UNKNOWN'; words: string; retryAt: Date; inDoubtAt: Date }
  | { to: 'REVIEW'; words: string; retryAt: Date; inDoubtAt: Date | null }
  /** It came although the item is settled, or it is a second one: kept aside. */
  | { to: 'ORPHAN'; esim: DeliveredEsim }
  | { to: 'SAME' }

export interface OutcomeContext {
  now: Date
  /** When the attempt that this is the outcome of was committed. */
  startedAt: Date
  operation: 'ORDER' | 'QUERY'
  /** When the latest purchase before this attempt began that may still be at work; null: there is none. */
  doubtSince: Date | null
  traits: Pick<SupplierTraits, 'timeoutMs' | 'settlesMs' | 'giveUpAfterMs' | 'queryBuys'>
  /** ICCID of the profile that the item has already. */
  deliveredIccid: string | undefined
  /** Whether the package names another supplier after this one. */
  hasNextRoute: boolean
  /** From 0 to 1: spreads retries. */
  jitter: number
}

/** A worker that has not sent its call this long after its claim began does not send it any more. */
export const SEND_WITHIN_MS = 3_000
/** Also for a supplier that says "again at once". */
const SOONEST_RETRY_MS = 500
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000

/**
 * Pure: the whole of what a supplier's answer means, by the rules of contract §6.
 *
 *   delivered           → DELIVERED; an orphan where the item is settled otherwise or has another eSIM
 *   refused, retry      → believed only once no earlier purchase can still be at work; UNKNOWN until then
 *   refused             → the next supplier, or REFUSED
 *   retry               → WAITING, bought again later; REVIEW past the deadline, bought again now and then
 *   unknown             → UNKNOWN, asked again later; REVIEW past the deadline, asked about now and then
 */
export function transition(item: LockedItem, outcome: Outcome, around: OutcomeContext): Transition {
  if (outcome.kind === 'delivered') return transitionOnDelivery(item, outcome.esim, around.deliveredIccid)
  const open = item.itemStatus === 'ASKED' || item.itemStatus === 'UNKNOWN' || item.itemStatus === 'REVIEW'
  if (!open) return { to: 'SAME' }
  const { words } = outcome
  const reviewed = item.itemStatus === 'REVIEW'
  if (outcome.kind === 'unknown') {
    const inDoubtAt = doubtAfter(around)
    if (reviewed || isLate(item, around, around.now)) return review(item, words, around, inDoubtAt)
    return { to: 'UNKNOWN', words, inDoubtAt, retryAt: later(around.now, backoff(item, around)) }
  }
  // An attempt's own answer leaves no doubt of itself; only an earlier one can still be at work.
  const { doubtSince } = around
  const quietFrom = doubtSince === null ? undefined : mayBeRunningUntil(doubtSince, around.traits)
  if (doubtSince !== null && quietFrom !== undefined && quietFrom > around.now) {
    return { to: reviewed ? 'REVIEW' : 'UNKNOWN', words, inDoubtAt: doubtSince, retryAt: quietFrom }
  }
  if (outcome.kind === 'refused') return { to: around.hasNextRoute ? 'NEXT_ROUTE' : 'REFUSED', words }
  // Waiting for the doubt to end does not use up the time to buy: a worker that crashed costs no review.
  const late = reviewed || isLate(item, around, doubtSince ?? around.now)
  if (around.operation === 'QUERY') {
    const bought = { words, retryAt: around.now }
    return late ? { to: 'REVIEW', ...bought, inDoubtAt: null } : { to: 'WAITING', ...bought }
  }
  if (late) return review(item, words, around, null)
  const askedMs = outcome.afterMs ?? backoff(item, around)
  const waitMs = Math.min(LONGEST_RETRY_MS, Math.max(SOONEST_RETRY_MS, askedMs))
  return { to: 'WAITING', words, retryAt: later(around.now, waitMs) }
}

/** A question that buys nothing leaves the doubt where it was. */
function doubtAfter({ operation, doubtSince, startedAt, traits }: OutcomeContext): Date {
  return operation === 'ORDER' || traits.queryBuys ? startedAt : (doubtSince ?? startedAt)
}

/** It needs nothing of the attempt that brought it, if there was one. */
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

const REVIEW_WAIT_MIN_MS = 60_000
const REVIEW_WAIT_MAX_MS = 3_600_000

/** Taken up again after as long as it has been open: a minute at least, an hour at most. */
function review(item: LockedItem, words: string, around: OutcomeContext, inDoubtAt: Date | null): Transition {
  const openMs = around.now.getTime() - (item.askedAt ?? around.startedAt).getTime()
  const waitMs = Math.min(REVIEW_WAIT_MAX_MS, Math.max(REVIEW_WAIT_MIN_MS, openMs))
  return { to: 'REVIEW', words, retryAt: later(around.now, waitMs), inDoubtAt }
}

/** The moment from which a purchase that began then can surely no longer be at work, here or at the supplier. */
export function mayBeRunningUntil(inDoubtAt: Date, traits: Pick<SupplierTraits, 'timeoutMs' | 'settlesMs'>): Date {
  return later(inDoubtAt, SEND_WITHIN_MS + traits.timeoutMs + traits.settlesMs)
}

function isLate(item: LockedItem, around: OutcomeContext, at: Date): boolean {
  return isPast(item.askedAt ?? around.startedAt, around.traits.giveUpAfterMs, at)
}

export function isPast(since: Date, allowedMs: number, now: Date): boolean {
  return later(since, allowedMs) <= now
}

/** 1 s, 2 s, 4 s … a minute, of which between half and all. */
function backoff(item: LockedItem, around: OutcomeContext): number {
  const fullMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, Math.max(0, item.attempts - 1)))
  return fullMs * (0.5 + around.jitter / 2)
}

function later(from: Date, byMs: number): Date {
  return new Date(from.getTime() + Math.ceil(byMs))
}
