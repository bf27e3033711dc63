import { createBatcher } from '../lib/batch.ts'
import type { Db } from '../lib/postgres/db.ts'
import { readOrderContext } from './context.ts'
import { type OrderInput, repeat, type Verdict } from './decide.ts'

/**
 * Answers orders that were placed before. Such a row is never moved nor deleted, and what it says was committed: it is read
 * without its wallet's lock, and waits for nobody who holds it.
 */
export interface Repeats {
  /** Whether this node has lately answered an order of this transactionId: most likely the same comes again. */
  isLikely(wish: OrderInput): boolean
  /** @returns undefined where there is none after all, or the database does not say: whoever places it finds out */
  lookUp(wish: OrderInput): Promise<Verdict | undefined>
  /** There is an order of this transactionId. */
  keep(wish: OrderInput): void
}

/** Twice as many at most are kept, some hundred bytes each: what a node answers in seconds at its best, and in a day else. */
const KEPT_MAX = 10_000
const BATCH_MAX = 128
const LANES = 2
const WAITING_MAX = 5_000

export function openRepeats(db: Pick<Db, 'query'>): Repeats {
  // By tenant, because a key of tenant and transactionId would be made, and hashed, for each order.
  let latest = new Map<string, Set<string>>()
  let earlier = latest
  let kept = 0
  const lookUps = createBatcher<OrderInput, Verdict | undefined>({
    limit: BATCH_MAX,
    concurrency: LANES,
    queueLimit: WAITING_MAX,
    queueFullError: () => new Error('too many orders wait'),
    run: (wishes) => lookUpAll(db, wishes),
  })
  return {
    isLikely: (wish) => isIn(latest, wish) || isIn(earlier, wish),
    lookUp: (wish) => lookUps.add(wish).catch(() => undefined),
    keep({ tenant, request }) {
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

async function lookUpAll(db: Pick<Db, 'query'>, wishes: OrderInput[]): Promise<(Verdict | undefined)[]> {
  const { existing } = await readOrderContext(db, wishes)
  return wishes.map((wish) => {
    const order = existing.get(wish.tenant.tenantId)?.get(wish.request.transactionId)
    return order && repeat(wish, order)
  })
}
