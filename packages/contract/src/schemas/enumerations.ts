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

/** NEW delivers eSIMs; TOPUP adds data or days to one that was delivered. */
export const ORDER_TYPES = ['NEW', 'TOPUP'] as const
export type OrderType = (typeof ORDER_TYPES)[number]

/** What a movement of the wallet is for. ORDER and TOPUP are debits of orders; WALLET_TOPUP is a payment to the operator. */
export const STATEMENT_KINDS = ['ORDER', 'TOPUP', 'REFUND', 'WALLET_TOPUP', 'ADJUSTMENT'] as const
export type StatementKind = (typeof STATEMENT_KINDS)[number]

/** An order in one of these statuses no longer changes by itself. */
export const FINAL_ORDER_STATUSES = ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED'] as const

/** The event types that a dealer can subscribe to. */
export const EVENT_TYPES = ['ORDER_PAID', 'DELIVERY_UPDATED'] as const
export type EventType = (typeof EVENT_TYPES)[number]
