export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] as const
/** DEAD: given up. UNSENT: no endpoint wanted it. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** Of an event `e`, for SQL: an event that is acknowledged has no delivery any more. */
export const DELIVERY_OF_EVENT = 'left join deliveries d on d.tenant_id = e.tenant_id and d.notify_id = e.notify_id'
export const STATE_OF_EVENT = `coalesce(d.delivery_state, 'DELIVERED')`
