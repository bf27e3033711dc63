import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { LockedItem } from '#orders/lock-orders.ts'
import { LONGEST_RETRY_MS, SEND_WITHIN_MS, transition } from './outcomes/item-transition.ts'
import { nextStep } from './plan-step.ts'

/*
 * How long an item waits after its worker was last killed, whatever the time-out, the grace, the lease and the number of
 * kills: until the lease ends or a worker runs again, then until no purchase can be running any more, then for the
 * supplier's answers.
 */

const LEASE_MS = 30_000
const RENEW_MS = 10_000
/** The next worker notices the end of a lease within this time. */
const POLL_MS = 500
/** A lease that ended longer ago than this is suspicious: the doubt restarts (order-lease.ts). */
const NOTICED_MS = 5_000

interface Kill {
  /** After the attempt was committed. */
  afterMs: number
  /** Until a worker runs again. */
  downMs: number
  /** The supplier received the purchase. */
  isReceived: boolean
}
interface Run {
  timeoutMs: number
  graceMs: number
  findsLate: boolean
  answerMs: number
  kills: Kill[]
}

const kill = fc.record({
  afterMs: fc.integer({ min: 0, max: 60_000 }),
  downMs: fc.integer({ min: 0, max: 120_000 }),
  isReceived: fc.boolean(),
})
const run = fc.record({
  timeoutMs: fc.integer({ min: 1_000, max: 60_000 }),
  graceMs: fc.integer({ min: 0, max: 120_000 }),
  findsLate: fc.boolean(),
  answerMs: fc.integer({ min: 0, max: 60_000 }),
  kills: fc.array(kill, { maxLength: 5 }),
})

it('an item never waits longer than the longest retry delay', () => {
  fc.assert(
    fc.property(run, (given) => {
      expect(simulate(given).longestWaitMs).toBeLessThanOrEqual(LONGEST_RETRY_MS)
    }),
  )
})

it('an item is delivered within a bounded time after its worker is killed for the last time', () => {
  fc.assert(
    fc.property(run, (given) => {
      const { timeoutMs, graceMs } = given
      const { deliveredAt, killedAt, downMs } = simulate(given)
      const answersMs = 4 * (timeoutMs + POLL_MS)
      const boundMs = Math.max(LEASE_MS, downMs) + SEND_WITHIN_MS + timeoutMs + graceMs + answersMs
      expect(deliveredAt - killedAt).toBeLessThanOrEqual(boundMs)
    }),
    { numRuns: 2_000 },
  )
})

const BOUGHT = { routes: [{ supplier: 's', productCode: 'X', cost: null, costCurrency: null }], allowLoss: false }
const NOBODY = { missing: new Set<string>(), isInterrupted: () => false }
const ITEM = { itemNo: 1, itemStatus: 'WAITING', price: 1n, routeNo: 0, attempts: 0, cost: null, costCurrency: null }
const UNASKED = { supplier: null, productCode: null, requestedAt: null, inDoubtAt: null, retryAt: null }

function simulate({ timeoutMs, graceMs, findsLate, answerMs, kills: given }: Run) {
  const kills = [...given]
  const item = { ...ITEM, ...UNASKED, updatedAt: new Date(0) } as unknown as LockedItem
  const traits = { timeoutMs, graceMs, giveUpAfterMs: 86_400_000, ...(findsLate && { findsLate }) }
  let isBought = false
  let leaseEnd: number | undefined
  let last = { killedAt: 0, downMs: 0 }
  let longestWaitMs = 0
  for (let now = 0, steps = 0; steps < 1_000; steps++) {
    const isOdd = leaseEnd !== undefined && now - leaseEnd > NOTICED_MS
    if (isOdd && (item.itemStatus === 'ASKED' || item.inDoubtAt !== null)) item.inDoubtAt = new Date(now)
    const startedAt = new Date(now)
    const step = nextStep(item, { currencyCode: 'USD' }, BOUGHT, NOBODY, startedAt)
    if (step.do === 'wait') {
      leaseEnd = undefined
      now = step.until.getTime()
      continue
    }
    if (step.do !== 'order' && step.do !== 'query') throw new Error(`unexpected: ${step.do}`)
    const isOrder = step.do === 'order'
    Object.assign(item, { supplier: 's', productCode: 'X', retryAt: null, attempts: item.attempts + 1 })
    Object.assign(item, { requestedAt: item.requestedAt ?? startedAt, updatedAt: startedAt })
    Object.assign(
      item,
      isOrder ? { itemStatus: 'ASKED', inDoubtAt: null } : { itemStatus: 'UNKNOWN', inDoubtAt: step.inDoubtAt },
    )
    const killed =
      kills[0] !== undefined && kills[0].afterMs < Math.min(answerMs, timeoutMs) ? kills.shift() : undefined
    if (killed) {
      isBought ||= isOrder && killed.isReceived
      const killedAt = now + killed.afterMs
      leaseEnd = now + LEASE_MS + Math.floor(killed.afterMs / RENEW_MS) * RENEW_MS
      last = { killedAt, downMs: killed.downMs }
      now = Math.max(leaseEnd + POLL_MS, killedAt + killed.downMs)
      continue
    }
    kills.shift()
    leaseEnd = undefined
    now += Math.min(answerMs, timeoutMs - 1)
    if (isOrder || isBought) return { ...last, deliveredAt: now, longestWaitMs }
    const made = transition(
      item,
      { kind: 'retry', message: 'unknown there' },
      {
        ...{ now: new Date(now), startedAt, operation: 'QUERY', doubtSince: step.inDoubtAt, traits },
        ...{ deliveredIccid: undefined, hasNextRoute: false, jitter: 1 },
      },
    )
    if (made.to !== 'WAITING' && made.to !== 'UNKNOWN') throw new Error(`unexpected: ${made.to}`)
    const inDoubtAt = made.to === 'UNKNOWN' ? made.inDoubtAt : null
    Object.assign(item, { itemStatus: made.to, retryAt: made.retryAt, inDoubtAt })
    longestWaitMs = Math.max(longestWaitMs, made.retryAt.getTime() - now)
    now = Math.max(now, made.retryAt.getTime())
  }
  throw new Error('the item is never delivered')
}
