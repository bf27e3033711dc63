import type { Outcome } from '@dealer-esim/wholesalers/supplier.ts'
import { describe, expect, it } from 'vitest'
import type { LockedItem } from '#orders/lock-orders.ts'
import { type OutcomeContext, SEND_WITHIN_MS, transition } from './item-transition.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const ago = (ms: number) => new Date(NOW.getTime() - ms)
const TRAITS = { timeoutMs: 10_000, graceMs: 60_000, giveUpAfterMs: 600_000 }
const DAY_MS = 86_400_000
/** From the start of a purchase until it has certainly ended. */
const DOUBT_MS = SEND_WITHIN_MS + TRAITS.timeoutMs + TRAITS.graceMs

const esim = { iccid: '8999900000000000017', smdpAddress: 'smdp.example.com', matchingId: 'M-1' }
const DELIVERED: Outcome = { kind: 'delivered', esim }
const REFUSED: Outcome = { kind: 'refused', message: 'none left' }
const RETRY: Outcome = { kind: 'retry', message: 'busy' }
const NO_MONEY: Outcome = { kind: 'retry', message: 'the account is empty', noMoney: true }
const UNKNOWN: Outcome = { kind: 'unknown', message: 'no answer' }

function item(itemStatus: LockedItem['itemStatus'], parts: Partial<LockedItem> = {}): LockedItem {
  return { itemNo: 1, itemStatus, attempts: 1, requestedAt: ago(1_000), ...parts } as LockedItem
}

function context(parts: Partial<OutcomeContext> = {}): OutcomeContext {
  return {
    now: NOW,
    startedAt: ago(1_000),
    operation: 'ORDER',
    doubtSince: null,
    traits: TRAITS,
    deliveredIccid: undefined,
    hasNextRoute: false,
    jitter: 1,
    ...parts,
  }
}

describe('the outcome of a purchase, with no earlier purchase in doubt', () => {
  it.each([
    ['delivered', DELIVERED, 'DELIVERED'],
    ['refused', REFUSED, 'REFUSED'],
    ['to be tried again', RETRY, 'WAITING'],
    ['unknown', UNKNOWN, 'UNKNOWN'],
  ] as const)('%s', (_, outcome, to) => {
    expect(transition(item('ASKED'), outcome, context()).to).toBe(to)
  })

  it('moves the item to the next supplier only after a definite refusal', () => {
    const to = (outcome: Outcome) => transition(item('ASKED'), outcome, context({ hasNextRoute: true })).to
    expect([REFUSED, RETRY, UNKNOWN].map(to)).toEqual(['NEXT_ROUTE', 'WAITING', 'UNKNOWN'])
  })

  it('makes an item of any age wait, or frees it for any supplier, if the account lacks money', () => {
    const at = (status: LockedItem['itemStatus'], parts: Partial<OutcomeContext>) =>
      transition(item(status, { requestedAt: ago(DAY_MS) }), NO_MONEY, context(parts))
    const message = 'the account is empty'
    const after = (ms: number) => new Date(NOW.getTime() + ms)
    expect(at('ASKED', { hasNextRoute: true })).toEqual({ to: 'ANY_ROUTE', message, retryAt: after(500) })
    expect(at('ASKED', {})).toEqual({ to: 'WAITING', message, retryAt: after(500) })
    expect(at('REVIEW', { hasNextRoute: true }).to).toBe('REVIEW')
    // An earlier purchase may still be running.
    expect(at('UNKNOWN', { hasNextRoute: true, doubtSince: ago(1_000) }).to).toBe('UNKNOWN')
  })

  it('puts the item in doubt from the start of the attempt', () => {
    expect(transition(item('ASKED'), UNKNOWN, context())).toMatchObject({ inDoubtAt: ago(1_000) })
  })
})

describe('a refusal after an unknown purchase', () => {
  const query = { operation: 'QUERY' as const }

  it('is not final while that purchase may still be running, and causes another query afterwards', () => {
    const doubtSince = ago(DOUBT_MS - 1)
    const made = transition(item('UNKNOWN'), REFUSED, context({ ...query, doubtSince }))
    expect(made).toEqual({
      to: 'UNKNOWN',
      message: 'none left',
      inDoubtAt: doubtSince,
      retryAt: new Date(NOW.getTime() + 1),
    })
  })

  it('causes an earlier query if the supplier is slow to list purchases', () => {
    const asked = (ms: number) =>
      transition(
        item('UNKNOWN'),
        RETRY,
        context({ ...query, doubtSince: ago(ms), traits: { ...TRAITS, findsLate: true } }),
      )
    expect(asked(1_000)).toMatchObject({ to: 'UNKNOWN', retryAt: new Date(NOW.getTime() + 1_000) })
    expect(asked(DOUBT_MS - 1)).toMatchObject({ to: 'UNKNOWN', retryAt: new Date(NOW.getTime() + 1) })
    expect(asked(DOUBT_MS).to).toBe('WAITING')
  })

  it('is final once that purchase can no longer be running', () => {
    expect(transition(item('UNKNOWN'), REFUSED, context({ ...query, doubtSince: ago(DOUBT_MS) })).to).toBe('REFUSED')
  })

  it('is treated like a “not bought” answer', () => {
    const to = (ms: number) => transition(item('UNKNOWN'), RETRY, context({ ...query, doubtSince: ago(ms) })).to
    expect([to(DOUBT_MS - 1), to(DOUBT_MS)]).toEqual(['UNKNOWN', 'WAITING'])
  })

  it('does not take an item out of review', () => {
    const doubtSince = ago(DOUBT_MS - 1)
    expect(transition(item('REVIEW'), REFUSED, context({ ...query, doubtSince })).to).toBe('REVIEW')
  })

  it('restarts the period of doubt only if the query itself may buy', () => {
    const doubtSince = ago(50_000)
    const asked = (queryBuys: boolean) =>
      transition(
        item('UNKNOWN'),
        UNKNOWN,
        context({ ...query, doubtSince, traits: { ...TRAITS, ...(queryBuys ? { queryBuys } : {}) } }),
      )
    expect(asked(true)).toMatchObject({ inDoubtAt: ago(1_000) })
    expect(asked(false)).toMatchObject({ inDoubtAt: doubtSince })
  })
})

describe('the deadline', () => {
  const late = { requestedAt: ago(TRAITS.giveUpAfterMs) }

  it('sends items without a decision to review', () => {
    for (const outcome of [UNKNOWN, RETRY]) {
      expect(transition(item('ASKED', late), outcome, context()).to).toBe('REVIEW')
      expect(transition(item('ASKED'), outcome, context()).to).not.toBe('REVIEW')
    }
  })

  it('leaves an item in review if its supplier asks for another retry', () => {
    const again = transition(item('REVIEW', late), RETRY, context())
    expect(again).toMatchObject({
      to: 'REVIEW',
      inDoubtAt: null,
      retryAt: new Date(NOW.getTime() + TRAITS.giveUpAfterMs),
    })
    const doubtSince = ago(DOUBT_MS)
    const answered = transition(item('REVIEW', late), RETRY, context({ operation: 'QUERY', doubtSince }))
    expect(answered).toMatchObject({ to: 'REVIEW', inDoubtAt: null, retryAt: NOW })
  })

  it('does not affect refusals and deliveries, however late they are', () => {
    expect(transition(item('ASKED', late), REFUSED, context()).to).toBe('REFUSED')
    expect(transition(item('REVIEW', late), DELIVERED, context()).to).toBe('DELIVERED')
  })

  it('excludes the time spent waiting for a crashed worker’s purchase', () => {
    const doubtSince = ago(DOUBT_MS)
    const started = { requestedAt: ago(DOUBT_MS + 1_000) }
    const traits = { ...TRAITS, giveUpAfterMs: 30_000 }
    const made = transition(item('UNKNOWN', started), RETRY, context({ operation: 'QUERY', doubtSince, traits }))
    expect(made.to).toBe('WAITING')
  })

  it('makes an item under review wait as long as it has been open, from a minute to an hour', () => {
    const waitS = (openMs: number) => {
      const made = transition(item('REVIEW', { requestedAt: ago(openMs) }), UNKNOWN, context())
      return 'retryAt' in made ? (made.retryAt.getTime() - NOW.getTime()) / 1000 : undefined
    }
    expect([1_000, 600_000, 86_400_000].map(waitS)).toEqual([60, 600, 3_600])
  })
})

describe('a delivered eSIM', () => {
  it.each(['WAITING', 'ASKED', 'UNKNOWN', 'REVIEW'] as const)('is delivered to an item that is %s', (itemStatus) => {
    expect(transition(item(itemStatus), DELIVERED, context()).to).toBe('DELIVERED')
  })

  it.each(['REFUSED', 'CANCELLED'] as const)('becomes an orphan if the item is %s', (itemStatus) => {
    expect(transition(item(itemStatus), DELIVERED, context())).toEqual({ to: 'ORPHAN', esim })
  })

  it('changes nothing when it is reported again, and becomes an orphan if the item has a different eSIM', () => {
    const to = (deliveredIccid: string) => transition(item('DELIVERED'), DELIVERED, context({ deliveredIccid })).to
    expect([to(esim.iccid), to('8999900000000000025')]).toEqual(['SAME', 'ORPHAN'])
  })

  it('stays delivered after a later refusal, “not bought” answer or time-out', () => {
    for (const itemStatus of ['DELIVERED', 'REFUSED', 'CANCELLED', 'WAITING'] as const) {
      for (const outcome of [REFUSED, RETRY, UNKNOWN]) {
        expect(transition(item(itemStatus), outcome, context()).to).toBe('SAME')
      }
    }
  })
})

it('retry delays double from 1 s to a minute with jitter, and respect the supplier’s delay within those bounds', () => {
  const waitMs = (attempts: number, jitter: number, outcome = RETRY) => {
    const made = transition(item('ASKED', { attempts }), outcome, context({ jitter }))
    return 'retryAt' in made ? made.retryAt.getTime() - NOW.getTime() : undefined
  }
  expect([1, 2, 3, 7, 100].map((attempts) => waitMs(attempts, 1))).toEqual([1_000, 2_000, 4_000, 60_000, 60_000])
  expect(waitMs(3, 0)).toBe(2_000)
  expect(waitMs(1, 1, { ...RETRY, afterMs: 5_000 })).toBe(5_000)
  expect(waitMs(1, 1, { ...RETRY, afterMs: 3_600_000 })).toBe(60_000)
})

describe('a top-up outcome', () => {
  const TOPPED_UP: Outcome = { kind: 'toppedUp' }
  const topUp = context({ operation: 'TOPUP' })

  it.each([
    ['WAITING', 'TOPPED_UP'],
    ['ASKED', 'TOPPED_UP'],
    ['UNKNOWN', 'TOPPED_UP'],
    ['REVIEW', 'TOPPED_UP'],
    ['DELIVERED', 'SAME'],
    ['REFUSED', 'ORPHAN_TOP_UP'],
    ['CANCELLED', 'ORPHAN_TOP_UP'],
  ] as const)('of success for an item that is %s is applied as %s', (status, to) => {
    expect(transition(item(status), TOPPED_UP, topUp).to).toBe(to)
  })

  it('that is unknown puts the item in doubt, as for a purchase', () => {
    const made = transition(item('ASKED'), UNKNOWN, topUp)
    expect(made).toMatchObject({ to: 'UNKNOWN', inDoubtAt: topUp.startedAt })
  })
})
