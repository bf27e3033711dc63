import { createBatcher } from '../../lib/batch.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { type OrderInput, replayOrConflict, type Verdict } from './decide.ts'
import { readOrderContext } from './place-locked.ts'

/**
 * Remembers which transactionIds this node has answered lately, and answers repeats of them without the wallet's lock:
 * an order is never moved or deleted, so what is read of it is committed and final.
 */
export interface RecentOrders {
  /** Whether this node has lately answered an order of this transactionId, so that this is probably a repeat. */
  has(input: OrderInput): boolean
  /** @returns undefined where there is no such order, or the database does not answer: then the order is placed */
  lookUp(input: OrderInput): Promise<Verdict | undefined>
  /** Called when an order of this transactionId exists. */
  add(input: OrderInput): void
}

/** At most twice as many are kept, some hundred bytes each. At full load a node answers as many in seconds. */
const KEPT_MAX = 10_000
const BATCH_MAX = 128
const CONCURRENT_BATCHES = 2
const QUEUE_MAX = 5_000

export function createRecentOrders(db: Pick<Db, 'query'>): RecentOrders {
  // By tenant: a joined key of tenant and transactionId would be built and hashed for each order.
  let latest = new Map<string, Set<string>>()
  let earlier = latest
  let kept = 0
  const lookUps = createBatcher<OrderInput, Verdict | undefined>({
    limit: BATCH_MAX,
    concurrency: CONCURRENT_BATCHES,
    queueLimit: QUEUE_MAX,
    queueFullError: () => new Error('too many orders are waiting'),
    run: (inputs) => lookUpAll(db, inputs),
  })
  return {
    has: (input) => isIn(latest, input) || isIn(earlier, input),
    lookUp: (input) => lookUps.add(input).catch(() => undefined),
    add({ tenant, request }) {
      const ofTenant = latest.get(tenant.tenantId)
      if (ofTenant?.has(request.transactionId)) return
      if (ofTenant) ofTenant.add(request.transactionId)
      else latest.set(tenant.tenantId, new Set([request.transactionId]))
      if (++kept < KEPT_MAX) return
      earlier = latest
      latest = new Map()
      kept = 0
    },
  }
}

function isIn(orders: ReadonlyMap<string, ReadonlySet<string>>, { tenant, request }: OrderInput): boolean {
  return orders.get(tenant.tenantId)?.has(request.transactionId) === true
}

async function lookUpAll(db: Pick<Db, 'query'>, inputs: OrderInput[]): Promise<(Verdict | undefined)[]> {
  const { existing } = await readOrderContext(db, inputs)
  return inputs.map((input) => {
    const order = existing.get(input.tenant.tenantId)?.get(input.request.transactionId)
    return order && replayOrConflict(input, order)
  })
}
