export const DELIVERY_STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] as const
/**
 * DEAD: given up after the last retry. UNSENT: no enabled endpoint is subscribed to it, or its format does not include it.
 */
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** A recorded event. Its bodies depend only on this and the format, so every attempt posts the same bytes. */
export interface Notification {
  notifyId: string
  notifyType: string
  createdAt: Date
  /** JSON text, posted exactly as recorded if the format is that of the dealer API. */
  content: string
  /** The JSON text of EventDetails. */
  details: string | null
}

/** Joins the delivery of an event `e`. An acknowledged event no longer has a delivery. */
export const DELIVERY_OF_EVENT = 'left join deliveries d on d.tenant_id = e.tenant_id and d.notify_id = e.notify_id'
export const STATE_OF_EVENT = `coalesce(d.delivery_state, 'DELIVERED')`
