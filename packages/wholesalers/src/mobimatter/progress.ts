import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/*
 * Steps of an order at MobiMatter. Each is committed before its request is sent:
 *
 *   CREATING    an order may be held whose number is not known: it is never completed, and lapses
 *   CREATED     the money of the order is held
 *   COMPLETING  the order may have been bought
 *   ENDED       the last order can no longer be completed: nothing was bought
 *
 *   none, CREATING, ENDED → CREATING → CREATED → COMPLETING;  each → ENDED
 *
 * An order is completed only by the worker that moves its own number from CREATED to COMPLETING, and another one is created
 * only after it has ended: so one key never buys twice, whichever workers process it.
 */
export type Progress =
  | { key: string; step: 'CREATING' | 'ENDED'; orderId: null }
  | { key: string; step: 'CREATED' | 'COMPLETING'; orderId: string }

export interface ProgressStore {
  find(key: string): Promise<Progress | undefined>
  /** Begins an order. @returns undefined if an order with this key is held or may have been bought */
  start(key: string): Promise<Progress | undefined>
  /** Writes the next step. @returns false if another worker has moved the order in the meantime */
  advance(from: Progress, to: Progress): Promise<boolean>
  /**
   * Takes the right to query the provider about an order: one node may do so per minute. @returns false if it is too early
   */
  claimInfo(orderId: string): Promise<boolean>
  /** Finds the key of the order that an event concerns. */
  findKey(orderId: string): Promise<string | undefined>
}

export function createProgressStore(supplier: string, db: Pick<Db, 'query'>): ProgressStore {
  return {
    async find(key) {
      const [row] = await db.query<Progress>({
        name: 'mobimatter-find',
        text: 'select key, step, order_id from mobimatter_orders where supplier = $1 and key = $2',
        values: [supplier, key],
      })
      return row
    },
    async start(key) {
      const [row] = await db.query<Progress>({
        name: 'mobimatter-start',
        text: `insert into mobimatter_orders as m (supplier, key, step) values ($1, $2, 'CREATING')
               on conflict (supplier, key) do update set step = 'CREATING', updated_at = now()
                 where m.step in ('CREATING', 'ENDED')
               returning key, step, order_id`,
        values: [supplier, key],
      })
      return row
    },
    async advance(from, to) {
      const moved = await db.query({
        name: 'mobimatter-advance',
        text: `update mobimatter_orders set step = $5, order_id = $6, updated_at = now()
               where supplier = $1 and key = $2 and step = $3 and order_id is not distinct from $4 returning key`,
        values: [supplier, from.key, from.step, from.orderId, to.step, to.orderId],
      })
      return moved.length === 1
    },
    async claimInfo(orderId) {
      const claimed = await db.query({
        name: 'mobimatter-claim-info',
        text: `update mobimatter_orders set info_at = now() where supplier = $1 and order_id = $2
                 and (info_at is null or info_at <= now() - interval '1 minute' or info_at > now()) returning key`,
        values: [supplier, orderId],
      })
      return claimed.length === 1
    },
    async findKey(orderId) {
      const [row] = await db.query<{ key: string }>({
        name: 'mobimatter-key',
        text: 'select key from mobimatter_orders where supplier = $1 and order_id = $2',
        values: [supplier, orderId],
      })
      return row?.key
    },
  }
}
