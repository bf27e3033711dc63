import type { Tx } from '../lib/postgres/db.ts'

export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] as const
/** DEAD: given up. UNSENT: no endpoint wanted it. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Of an event `e`, for SQL: an event that is acknowledged has no delivery any more. */
export const DELIVERY_OF_EVENT = 'left join deliveries d on d.tenant_id = e.tenant_id and d.notify_id = e.notify_id'
export const STATE_OF_EVENT = `coalesce(d.delivery_state, 'DELIVERED')`

/**
 * A partition that was empty when statistics were last taken looks cheap to read whole, and stays in a prepared plan
 * like that while it fills. Every statement here has its index: the planner is told to use one. It is told to plan
 * once, too: over six partitions that takes longer than a claim of 64.
 */
export function usePlanHints(tx: Tx): void {
  tx.send({
    name: 'webhooks-planner',
    text: `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
                  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
                  set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`,
  })
}
