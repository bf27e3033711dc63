import { type BatchOptions, createBatcher } from '@dealer-esim/lib/batch.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { replayOrConflict, type Verdict } from './decide-order.ts'
import type { OrderInput } from './order-input.ts'
import { readOrderContext } from './place-batch.ts'

/**
 * The transactionIds that this node answered recently. With them, repeats are answered without locking the wallet: an order
 * is never moved or deleted, so whatever is read is committed and final.
 */
export interface RecentOrders {
  /** True if this node has recently answered an order with this transactionId, so this one is probably a repeat. */
  has(input: OrderInput): boolean
  /** @returns undefined if there is no such order, or the database does not answer: the order is then placed */
  lookUp(input: OrderInput): Promise<Verdict | undefined>
  /** Called once it is known that an order with this transactionId exists. */
  add(input: OrderInput): void
}

type LookUpLimits = Pick<BatchOptions<OrderInput, Verdict | undefined>, 'limit' | 'concurrency' | 'queueLimit'>

/**
 * Up to twice as many transactionIds are kept, at a few hundred bytes each. At full load a node answers that many within
 * seconds.
 */
const KEPT_MAX = 10_000

/** @param limits the same as for batches of orders: each look-up saves an order its place in one */
export function createRecentOrders(db: Pick<Db, 'query'>, limits: LookUpLimits): RecentOrders {
  // Nested by tenant: a combined key would have to be built and hashed for each order.
  let latest = new Map<string, Set<string>>()
  let earlier = latest
  let kept = 0
  const lookUps = createBatcher<OrderInput, Verdict | undefined>({
    ...limits,
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
