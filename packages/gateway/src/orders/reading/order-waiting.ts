import type { ItemStatus } from '../order-item.ts'

/** The columns of an item that show what it is waiting for. */
export interface WaitingItem {
  itemStatus: ItemStatus
  supplier: string | null
  attempts: number
  requestedAt: Date | null
  inDoubtAt: Date | null
  retryAt: Date | null
}

/**
 * What an open order is waiting for, and what happens next:
 *
 *   NOT_ASKED   no supplier has been asked yet
 *   NOT_BOUGHT  the supplier was asked and has definitely not sold it so far: it will be asked again
 *   NO_ANSWER   the supplier may have sold it but has not said so: it will be asked again
 *   REVIEW      an operator decides, based on the supplier's answer
 */
export interface OrderWaiting {
  reason: 'NOT_ASKED' | 'NOT_BOUGHT' | 'NO_ANSWER' | 'REVIEW'
  supplier: string | null
  since: Date
  /** When the supplier will next be asked; null: now, or only if an operator asks. */
  nextAskAt: Date | null
  /** The latest time at which it goes to review; null: no supplier has been asked yet, or it is under review. */
  reviewAt: Date | null
}

/**
 * Derives what an order is waiting for from its items. Pure. An item without an answer comes before one that was not
 * bought, because money may already have been spent on it.
 * @param giveUpAfterMs how long an item of this supplier may be undecided; undefined: the supplier is unknown
 * @returns undefined if the order is not waiting for anything
 */
export function waitingOf(
  items: readonly WaitingItem[],
  order: { createdAt: Date; dueAt: Date | null },
  now: Date,
  giveUpAfterMs: (supplier: string) => number | undefined,
): OrderWaiting | undefined {
  for (const reason of REASONS) {
    const waiting = items.filter((item) => reasonOf(item) === reason)
    if (waiting.length === 0) continue
    const since = earliest(waiting.map((item) => item.inDoubtAt ?? item.requestedAt ?? order.createdAt))!
    const next = earliest(waiting.flatMap((item) => (isAsked(item) ? [] : (item.retryAt ?? order.dueAt ?? []))))
    const deadlines = waiting.flatMap(({ supplier, requestedAt }) => {
      const allowedMs = supplier === null ? undefined : giveUpAfterMs(supplier)
      return requestedAt === null || allowedMs === undefined ? [] : [requestedAt.getTime() + allowedMs]
    })
    // After its deadline, an item goes to review with the next inconclusive answer.
    const soonest = Math.max(now.getTime(), next?.getTime() ?? 0)
    return {
      reason,
      supplier: waiting.find((item) => item.supplier !== null)?.supplier ?? null,
      since,
      nextAskAt: next !== undefined && next > now ? next : null,
      reviewAt: reason === 'REVIEW' || deadlines.length === 0 ? null : new Date(Math.max(soonest, ...deadlines)),
    }
  }
  return undefined
}

/** The most urgent first. */
const REASONS = ['NO_ANSWER', 'NOT_BOUGHT', 'NOT_ASKED', 'REVIEW'] as const

function reasonOf({ itemStatus, attempts }: WaitingItem): OrderWaiting['reason'] | undefined {
  switch (itemStatus) {
    case 'WAITING':
      return attempts > 0 ? 'NOT_BOUGHT' : 'NOT_ASKED'
    case 'ASKED':
    case 'UNKNOWN':
      return 'NO_ANSWER'
    case 'REVIEW':
      return 'REVIEW'
    case 'DELIVERED':
    case 'REFUSED':
    case 'CANCELLED':
      return undefined
    default:
      return itemStatus satisfies never
  }
}

function isAsked({ itemStatus }: WaitingItem): boolean {
  return itemStatus === 'ASKED'
}

function earliest(times: readonly Date[]): Date | undefined {
  return times.length === 0 ? undefined : new Date(Math.min(...times.map((time) => time.getTime())))
}
