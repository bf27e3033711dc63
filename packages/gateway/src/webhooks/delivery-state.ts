export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] as const
/** DEAD: given up after the last retry. UNSENT: no enabled endpoint subscribed to it, or its format lacks it. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** An event as it is recorded. Its bodies depend on this and the format only, so every attempt posts the same bytes. */
export interface Notification {
  notifyId: string
  notifyType: string
  createdAt: Date
  /** JSON text, posted exactly as recorded in the format of the dealer API. */
  content: string
  /** JSON text of EventDetails. */
  details: string | null
}

/** Joins the delivery of an event `e`. An acknowledged event has no delivery any more. */
export const DELIVERY_OF_EVENT = 'left join deliveries d on d.tenant_id = e.tenant_id and d.notify_id = e.notify_id'
export const STATE_OF_EVENT = `coalesce(d.delivery_state, 'DELIVERED')`
