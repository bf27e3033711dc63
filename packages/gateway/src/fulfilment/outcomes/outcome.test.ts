import { describe, expect, it } from 'vitest'
import type { LockedItem } from '../../orders/lock.ts'
import type { Outcome } from '../../suppliers/supplier.ts'
import { type OutcomeContext, SEND_WITHIN_MS, transition } from './outcome.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const ago = (ms: number) => new Date(NOW.getTime() - ms)
const TRAITS = { timeoutMs: 10_000, settlesMs: 60_000, giveUpAfterMs: 600_000 }
/** From the start of a purchase until nobody can be at it any more. */
const DOUBT_MS = SEND_WITHIN_MS + TRAITS.timeoutMs + TRAITS.settlesMs

const esim = { iccid: '8999900000000000017', smdpAddress: 'smdp.example.com', matchingId: 'M-1' }
const DELIVERED: Outcome = { kind: 'delivered', esim }
const REFUSED: Outcome = { kind: 'refused', words: 'none left' }
const RETRY: Outcome = { kind: 'retry', words: 'busy' }
const UNKNOWN: Outcome = { kind: 'unknown', words: 'no answer' }

function item(itemStatus: LockedItem['itemStatus'], parts: Partial<LockedItem> = {}): LockedItem {
  return { itemNo: 1, itemStatus, attempts: 1, askedAt: ago(1_000), ...parts } as LockedItem
}

function around(parts: Partial<OutcomeContext> = {}): OutcomeContext {
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

describe('the outcome of a purchase without an earlier one in doubt', () => {
  it.each([
    ['delivered', DELIVERED, 'DELIVERED'],
    ['refused', REFUSED, 'REFUSED'],
    ['to be tried again', RETRY, 'WAITING'],
    ['unknown', UNKNOWN, 'UNKNOWN'],
  ] as const)('%s', (_, outcome, to) => {
    expect(transition(item('ASKED'), outcome, around()).to).toBe(to)
  })

  it('goes to the next supplier after a definite refusal, and after nothing else', () => {
    const to = (outcome: Outcome) => transition(item('ASKED'), outcome, around({ hasNextRoute: true })).to
    expect([REFUSED, RETRY, UNKNOWN].map(to)).toEqual(['NEXT_ROUTE', 'WAITING', 'UNKNOWN'])
  })

  it('is in doubt from the moment that the attempt began', () => {
    expect(transition(item('ASKED'), UNKNOWN, around())).toMatchObject({ inDoubtAt: ago(1_000) })
  })
})

describe('a refusal after an unknown purchase', () => {
  const query = { operation: 'QUERY' as const }

  it('is not believed while the purchase may still be at work, and asked for again when it cannot be', () => {
    const doubtSince = ago(DOUBT_MS - 1)
    const made = transition(item('UNKNOWN'), REFUSED, around({ ...query, doubtSince }))
    expect(made).toEqual({
      to: 'UNKNOWN',
      words: 'none left',
      inDoubtAt: doubtSince,
      retryAt: new Date(NOW.getTime() + 1),
    })
  })

  it('is believed once it cannot', () => {
    expect(transition(item('UNKNOWN'), REFUSED, around({ ...query, doubtSince: ago(DOUBT_MS) })).to).toBe('REFUSED')
  })

  it('and a “not bought” are held alike', () => {
    const to = (ms: number) => transition(item('UNKNOWN'), RETRY, around({ ...query, doubtSince: ago(ms) })).to
    expect([to(DOUBT_MS - 1), to(DOUBT_MS)]).toEqual(['UNKNOWN', 'WAITING'])
  })

  it('leaves an order under review there', () => {
    const doubtSince = ago(DOUBT_MS - 1)
    expect(transition(item('REVIEW'), REFUSED, around({ ...query, doubtSince })).to).toBe('REVIEW')
  })

  it('begins anew with a question that may buy, and only with such', () => {
    const doubtSince = ago(50_000)
    const asked = (queryBuys: boolean) =>
      transition(
        item('UNKNOWN'),
        UNKNOWN,
        around({ ...query, doubtSince, traits: { ...TRAITS, ...(queryBuys ? { queryBuys } : {}) } }),
      )
    expect(asked(true)).toMatchObject({ inDoubtAt: ago(1_000) })
    expect(asked(false)).toMatchObject({ inDoubtAt: doubtSince })
  })
})

describe('the deadline', () => {
  const late = { askedAt: ago(TRAITS.giveUpAfterMs) }

  it('sends what is not decided to review, where it is asked about after a minute', () => {
    for (const outcome of [UNKNOWN, RETRY]) {
      expect(transition(item('ASKED', late), outcome, around()).to).toBe('REVIEW')
      expect(transition(item('ASKED'), outcome, around()).to).not.toBe('REVIEW')
    }
  })

  it('leaves what a supplier puts off again under review, and has it bought there', () => {
    const again = transition(item('REVIEW', late), RETRY, around())
    expect(again).toMatchObject({
      to: 'REVIEW',
      inDoubtAt: null,
      retryAt: new Date(NOW.getTime() + TRAITS.giveUpAfterMs),
    })
    const doubtSince = ago(DOUBT_MS)
    const told = transition(item('REVIEW', late), RETRY, around({ operation: 'QUERY', doubtSince }))
    expect(told).toMatchObject({ to: 'REVIEW', inDoubtAt: null, retryAt: NOW })
  })

  it('refunds nothing: what was refused or delivered is so however late', () => {
    expect(transition(item('ASKED', late), REFUSED, around()).to).toBe('REFUSED')
    expect(transition(item('REVIEW', late), DELIVERED, around()).to).toBe('DELIVERED')
  })

  it('does not count the time in which a crashed worker’s purchase was waited for', () => {
    const doubtSince = ago(DOUBT_MS)
    const started = { askedAt: ago(DOUBT_MS + 1_000) }
    const traits = { ...TRAITS, giveUpAfterMs: 30_000 }
    const made = transition(item('UNKNOWN', started), RETRY, around({ operation: 'QUERY', doubtSince, traits }))
    expect(made.to).toBe('WAITING')
  })

  it('asks about an order under review less and less often: a minute at least, an hour at most', () => {
    const waitS = (openMs: number) => {
      const made = transition(item('REVIEW', { askedAt: ago(openMs) }), UNKNOWN, around())
      return 'retryAt' in made ? (made.retryAt.getTime() - NOW.getTime()) / 1000 : undefined
    }
    expect([1_000, 600_000, 86_400_000].map(waitS)).toEqual([60, 600, 3_600])
  })
})

describe('an eSIM that arrives', () => {
  it.each(['WAITING', 'ASKED', 'UNKNOWN', 'REVIEW'] as const)('is delivered to an item that is %s', (itemStatus) => {
    expect(transition(item(itemStatus), DELIVERED, around()).to).toBe('DELIVERED')
  })

  it.each(['REFUSED', 'CANCELLED'] as const)('is an orphan where the item is %s', (itemStatus) => {
    expect(transition(item(itemStatus), DELIVERED, around())).toEqual({ to: 'ORPHAN', esim })
  })

  it('a second time changes nothing, and another one is an orphan', () => {
    const to = (deliveredIccid: string) => transition(item('DELIVERED'), DELIVERED, around({ deliveredIccid })).to
    expect([to(esim.iccid), to('8999900000000000025')]).toEqual(['SAME', 'ORPHAN'])
  })

  it('stays: no later refusal, “not bought” or silence moves it', () => {
    for (const itemStatus of ['DELIVERED', 'REFUSED', 'CANCELLED', 'WAITING'] as const) {
      for (const outcome of [REFUSED, RETRY, UNKNOWN]) {
        expect(transition(item(itemStatus), outcome, around()).to).toBe('SAME')
      }
    }
  })
})

it('retries after 1 s, 2 s, 4 s … a minute, of which between half and all; or when the supplier says, within that', () => {
  const waitMs = (attempts: number, jitter: number, outcome = RETRY) => {
    const made = transition(item('ASKED', { attempts }), outcome, around({ jitter }))
    return 'retryAt' in made ? made.retryAt.getTime() - NOW.getTime() : undefined
  }
  expect([1, 2, 3, 7, 100].map((attempts) => waitMs(attempts, 1))).toEqual([1_000, 2_000, 4_000, 60_000, 60_000])
  expect(waitMs(3, 0)).toBe(2_000)
  expect(waitMs(1, 1, { ...RETRY, afterMs: 5_000 })).toBe(5_000)
  expect(waitMs(1, 1, { ...RETRY, afterMs: 3_600_000 })).toBe(60_000)
})
