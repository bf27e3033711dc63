/** Separate from the schemas, so that the SDK can use them without the schema library. */

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

/** An order in one of these statuses no longer changes by itself. */
export const FINAL_ORDER_STATUSES = ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED'] as const

/** The event types that a dealer can subscribe to. */
export const EVENT_TYPES = ['ORDER_PAID', 'DELIVERY_UPDATED'] as const
export type EventType = (typeof EVENT_TYPES)[number]
