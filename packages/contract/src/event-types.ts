/** The events that a dealer can choose. */
export const EVENT_TYPES = ['ORDER_PAID', 'DELIVERY_UPDATED'] as const
export type EventType = (typeof EVENT_TYPES)[number]
