import type { OrderStatus, QueryAnswer } from '@dealer-esim/contract'
import { type Bench, believes, bought, buy, type Case, type Finding, ordersOf, send, settle, truthOf } from './bench.ts'
import { deliveryUpdated, orderPaid } from './events.ts'

const WEBHOOKS = 'docs/webhooks.md'
const HOUR_MS = 3_600_000
const OTHER_SECRET = 'not-the-secret-of-this-account_0123456789'

/** Cases in which events arrive as they do on a network, or do not come from the gateway. */
export const EVENT_CASES: Case[] = [
  delivery('doubled-events', 'Each event of the order arrives twice.', ([paid, allocating, delivered]) => [
    ...[paid, paid, allocating, allocating],
    ...[delivered, delivered],
  ]),
  delivery('reordered-events', 'The last event of the order arrives first.', ([paid, allocating, delivered]) => [
    delivered,
    paid,
    allocating,
  ]),
  pretended('forged-event', 'An event that others have signed says that the order failed.', {
    secrets: [OTHER_SECRET],
    requestSecret: OTHER_SECRET,
  }),
  pretended('stale-event', 'An event with a valid signature, but an hour old, is sent again by somebody.', {
    ageMs: HOUR_MS,
  }),
  {
    name: 'secret-reset',
    what: 'The AppSecret was reset with a grace period: events carry a signature of each secret, yours second.',
    page: WEBHOOKS,
    async run(bench) {
      const { reference, order } = await delivered(bench)
      const both = { secrets: [OTHER_SECRET, bench.appSecret], requestSecret: OTHER_SECRET }
      const statuses = []
      for (const event of eventsOf(order)) statuses.push(await send(bench, event, both))
      return [accepted(statuses), await believes(bench, reference, truthOf(order))]
    },
  },
]

type Events = ReturnType<typeof eventsOf>

function delivery(name: string, what: string, arrange: (events: Events) => Events[number][]): Case {
  return {
    ...{ name, what, page: WEBHOOKS },
    async run(bench) {
      const { reference, order } = await delivered(bench)
      const statuses = []
      for (const event of arrange(eventsOf(order))) statuses.push(await send(bench, event))
      await bench.integration.settle()
      return [bought([order], 1), accepted(statuses), await believes(bench, reference, truthOf(order))]
    },
  }
}

function pretended(name: string, what: string, fault: Parameters<typeof send>[2]): Case {
  return {
    ...{ name, what, page: WEBHOOKS },
    async run(bench): Promise<Finding[]> {
      const reference = await buy(bench)
      const [order] = await settle(bench)
      if (!order) return [bought([], 1)]
      const status = await send(bench, deliveryUpdated(order, 'FAILED', 9), fault)
      const refused = status >= 400 && status < 500
      return [
        { expected: 'the event is refused (4xx)', found: `HTTP ${status}`, ok: refused },
        await believes(bench, reference, truthOf(order)),
      ]
    },
  }
}

/** Buys, and waits until the gateway has delivered. The integration may not know it yet. */
async function delivered(bench: Bench): Promise<{ reference: string; order: QueryAnswer }> {
  const reference = await buy(bench)
  const [order] = await ordersOf(bench)
  if (order) return { reference, order }
  throw new Error('The integration has placed no order through the proxy.')
}

function eventsOf(order: QueryAnswer) {
  const updated = (status: OrderStatus, sequence: number) => deliveryUpdated(order, status, sequence)
  return [orderPaid(order), updated('ALLOCATING', 2), updated(order.orderStatus, 3)] as const
}

function accepted(statuses: readonly number[]): Finding {
  const isAccepted = statuses.every((status) => status >= 200 && status < 300)
  return {
    expected: 'each event is accepted (2xx)',
    found: `HTTP ${[...new Set(statuses)].join(', ')}`,
    ok: isAccepted,
  }
}
