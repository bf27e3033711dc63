import { codes, formatTime } from '@dealer-esim/contract'
import { sleep } from '#retry.ts'
import {
  agrees,
  believes,
  bought,
  buy,
  type Case,
  type Finding,
  NOTHING_BOUGHT,
  ordersOf,
  settle,
  truthOf,
} from './bench.ts'
import type { Fault } from './proxy.ts'

const IDEMPOTENCY = 'docs/idempotency.md'
const RETRY_AFTER_S = 2
/** More calls of one purchase than this, without waiting for anything, are a loop. */
const CALLS_MAX = 10

/** Cases in which the order itself meets what breaks integrations. */
export const ORDER_CASES: Case[] = [
  {
    name: 'lost-answer',
    what: 'The order is placed, and every answer to it is lost until the purchase is settled.',
    page: IDEMPOTENCY,
    async run(bench) {
      const reference = await buy(bench, { fault: () => ({ kind: 'lost answer' }) })
      const { status } = await bench.integration.believed(reference)
      const open = { expected: 'it believes PENDING while it has no answer', found: status, ok: status === 'PENDING' }
      return [open, ...(await agrees(bench, reference, await settle(bench)))]
    },
  },
  {
    name: 'server-error',
    what: 'The order is placed, and its first answer is 500; the next call succeeds.',
    page: IDEMPOTENCY,
    async run(bench) {
      const reference = await buy(bench, { fault: first(refusalOf('000001', { forwarded: true })) })
      return agrees(bench, reference, await settle(bench))
    },
  },
  {
    name: 'rate-limit',
    what: `The first call is refused with 101007 and Retry-After: ${RETRY_AFTER_S}.`,
    page: 'docs/limits.md',
    async run(bench) {
      const limited = refusalOf('101007', { headers: { 'Retry-After': String(RETRY_AFTER_S) } })
      const reference = await buy(bench, { fault: first(limited) })
      const [refused, next] = bench.proxy.orders
      const waitedMs = refused && next ? next.atMs - refused.atMs : undefined
      const waited = {
        expected: `no further call within ${RETRY_AFTER_S} s`,
        found: waitedMs === undefined ? 'none' : `one after ${Math.round(waitedMs)} ms`,
        ok: waitedMs === undefined || waitedMs >= RETRY_AFTER_S * 1000 - 50,
      }
      await sleep(RETRY_AFTER_S * 1000, undefined)
      return [waited, ...(await agrees(bench, reference, await settle(bench), true))]
    },
  },
  {
    name: 'clock-skew',
    what: 'Every call is refused with 101001, as with a wrong clock, until the purchase is settled.',
    page: 'docs/signing.md',
    async run(bench) {
      const serverTime = formatTime(new Date(Date.now() + 600_000))
      const reference = await buy(bench, { fault: () => refusalOf('101001', { data: { serverTime } }) })
      const calls = bench.proxy.orders.length
      const { status } = await bench.integration.believed(reference)
      const isOpen = status === 'PENDING' || status === 'REFUSED'
      return [
        { expected: `at most ${CALLS_MAX} calls`, found: `${calls}`, ok: calls <= CALLS_MAX },
        { expected: 'it believes PENDING or REFUSED: nothing was bought', found: status, ok: isOpen },
        ...(await agrees(bench, reference, await settle(bench), true)),
      ]
    },
  },
  {
    name: 'price-change',
    what: 'The customer saw a price that has risen since.',
    page: 'docs/testing.md',
    async run(bench) {
      const reference = await buy(bench, { priceDifference: -1 })
      const orders = await ordersOf(bench)
      return [bought(orders, 0), await believes(bench, reference, NOTHING_BOUGHT)]
    },
  },
  ends('partial-delivery', 'SANDBOX_PARTIAL', 2, 'One of two eSIMs is delivered, and the other is refunded.'),
  ends('refund', 'SANDBOX_REFUSED', 1, 'The supplier refuses the eSIM after the debit, and the order is refunded.'),
]

function ends(name: string, packageCode: string, count: number, what: string): Case {
  return {
    ...{ name, what, page: 'docs/after-the-sale.md' },
    async run(bench): Promise<Finding[]> {
      const reference = await buy(bench, { packageCode, count })
      const orders = await settle(bench)
      return [bought(orders, 1), await believes(bench, reference, ...orders.map(truthOf))]
    },
  }
}

/** The answer of a code, as the gateway gives it. */
function refusalOf(code: '000001' | '101001' | '101007', more: Partial<Fault & { kind: 'answer' }>): Fault {
  return { kind: 'answer', status: codes[code].http, code, ...more }
}

function first(fault: Fault) {
  return (arrival: number): Fault => (arrival === 1 ? fault : undefined)
}
