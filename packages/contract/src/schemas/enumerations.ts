/** Apart from the schemas, so that the SDK can say them without the schema library. */

export const ORDER_STATUSES = [
  'PAID',
  'ALLOCATING',
  'UNDER_REVIEW',
  'DELIVERED',
  'PARTIALLY_DELIVERED',
  'FAILED',
  'CANCELLED',
] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

/** In these nothing more happens to the order by itself. */
export const FINAL_ORDER_STATUSES = ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED'] as const

/** The events that a dealer can choose. */
export const EVENT_TYPES = ['ORDER_PAID', 'DELIVERY_UPDATED'] as const
export type EventType = (typeof EVENT_TYPES)[number]
