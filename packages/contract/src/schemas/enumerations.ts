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

/** TEST: of a test twin. */
export const MODES = ['LIVE', 'TEST'] as const
export type Mode = (typeof MODES)[number]

/** The kinds of movements of the wallet. ORDER and TOPUP are debits of orders; WALLET_TOPUP is a payment to the operator. */
export const STATEMENT_KINDS = ['ORDER', 'TOPUP', 'REFUND', 'WALLET_TOPUP', 'ADJUSTMENT'] as const
export type StatementKind = (typeof STATEMENT_KINDS)[number]

/** An order in one of these statuses no longer changes on its own. */
export const FINAL_ORDER_STATUSES = ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED'] as const

/** BASE packages are sold as eSIMs; TOPUP packages add to one. */
export const PACKAGE_TYPES = ['BASE', 'TOPUP'] as const
export type PackageType = (typeof PACKAGE_TYPES)[number]

export const ESIM_ACTIONS = ['CANCEL', 'SUSPEND', 'UNSUSPEND', 'REVOKE'] as const
export type EsimAction = (typeof ESIM_ACTIONS)[number]

/** QUEUED → SENT | FAILED; SENT → OPENED. */
export const SEND_STATUSES = ['QUEUED', 'SENT', 'FAILED', 'OPENED'] as const
export type SendStatus = (typeof SEND_STATUSES)[number]

/** PENDING → DONE | REFUSED | UNDER_REVIEW; UNDER_REVIEW → DONE | REFUSED. */
export const ACTION_STATUSES = ['PENDING', 'DONE', 'REFUSED', 'UNDER_REVIEW'] as const
export type ActionStatus = (typeof ACTION_STATUSES)[number]

/** The event types that a dealer can subscribe to. */
export const EVENT_TYPES = [
  'ORDER_PAID',
  'DELIVERY_UPDATED',
  'ESIM_USAGE',
  'ESIM_EXPIRING',
  'ESIM_ACTION_UPDATED',
  'BALANCE_LOW',
] as const
/** The subscription of a tenant that has never set one. No type is ever added to it automatically. */
export const DEFAULT_EVENT_TYPES = ['ORDER_PAID', 'DELIVERY_UPDATED'] as const satisfies readonly EventType[]
export type EventType = (typeof EVENT_TYPES)[number]

/** Why the receiver did not acknowledge the event of `webhook/test`. */
export const TEST_FAILURES = ['TIMEOUT', 'REFUSED', 'TLS', 'ADDRESS', 'STATUS'] as const
export type TestFailure = (typeof TEST_FAILURES)[number]

/** What the supplier of a test order says at last: `test/order/resolve`. */
export const TEST_OUTCOMES = ['DELIVERED', 'REFUSED'] as const
export type TestOutcome = (typeof TEST_OUTCOMES)[number]

/** The owner of a spend limit: the account's day, or a restricted key's order, day or entire life. */
export const SPEND_SCOPES = ['TENANT_DAY', 'KEY_ORDER', 'KEY_DAY', 'KEY_TOTAL'] as const
export type SpendScope = (typeof SPEND_SCOPES)[number]

/** The status of the eSIM as a product. */
export const ESIM_STATUSES = [
  'GOT_RESOURCE',
  'IN_USE',
  'USED_UP',
  'USED_EXPIRED',
  'UNUSED_EXPIRED',
  'CANCEL',
  'REVOKED',
] as const
export type EsimStatus = (typeof ESIM_STATUSES)[number]

/** The status of the profile, as reported by the SM-DP+ and the device. */
export const SMDP_STATUSES = ['RELEASED', 'DOWNLOAD', 'INSTALLATION', 'ENABLED', 'DISABLED', 'DELETED'] as const
export type SmdpStatus = (typeof SMDP_STATUSES)[number]

export const DATA_TYPES = ['TOTAL', 'DAILY', 'UNLIMITED'] as const
export type DataType = (typeof DATA_TYPES)[number]

export const ACTIVATION_POLICIES = ['ON_INSTALL', 'ON_FIRST_NETWORK', 'ON_PURCHASE'] as const
export type ActivationPolicy = (typeof ACTIVATION_POLICIES)[number]

export const PACKAGE_STATUSES = ['ON_SALE', 'OFF_SALE'] as const
export type PackageStatus = (typeof PACKAGE_STATUSES)[number]

export const DURATION_UNITS = ['DAY'] as const
export type DurationUnit = (typeof DURATION_UNITS)[number]

/** 0: no SMS, 1: by phone and API, 2: by API only. */
export const SMS_STATUSES = [0, 1, 2] as const
export type SmsStatus = (typeof SMS_STATUSES)[number]

/** Location codes other than countries. */
export const REGIONAL = '!RG'
export const GLOBAL = '!GL'
