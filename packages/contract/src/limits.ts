/** Every limit that a caller can reach. Units that are not obvious come last in the name. */

/** Lines in one order: enough for a basket, but few enough that an order never locks its wallet's row for long. */
export const ORDER_LINES_MAX = 20
export const LINE_COUNT_MAX = 30
/** eSIMs in one order, over all of its lines. */
export const ORDER_ESIMS_MAX = 100

export const TRANSACTION_ID_LENGTH_MAX = 64
/** The prefix of the ids that a gateway derives from transactionIds of other forms. No request may use it. */
export const DERIVED_ID_PREFIX = 'rt-sha256:'
/** An e-mail address cannot be longer (RFC 5321 §4.5.3.1.3). */
export const EMAIL_LENGTH_MAX = 254
export const TRAVELLER_NAME_LENGTH_MAX = 80
export const BRAND_LENGTH_MAX = 32
export const REMARK_LENGTH_MAX = 200
export const REASON_LENGTH_MAX = 200
/** Days of a day pass. */
export const PERIOD_NUM_MAX = 365
export const USAGE_THRESHOLDS_MAX = 6
export const USAGE_THRESHOLDS_DEFAULT = [50, 80, 100] as const
export const EXPIRY_NOTICES_MAX = 4
export const EXPIRY_NOTICE_MAX_HOURS = 720
export const EXPIRY_NOTICE_HOURS_DEFAULT = [72, 24] as const
/** Codes, slugs and order numbers. */
export const NAME_LENGTH_MAX = 64
export const KEYWORD_LENGTH_MAX = 100
/** Countries in one `coversAll` of `package/list`: more than any trip needs. */
export const COVERED_COUNTRIES_MAX = 20
/** eSIMs in one `esim/usage/query`. */
export const USAGE_QUERY_ESIMS_MAX = 100
/** The longest language tag that RFC 5646 §4.4.1 asks programs to accept. */
export const LANGUAGE_LENGTH_MAX = 35
export const CURSOR_LENGTH_MAX = 512
/** The longest URL that browsers and proxies commonly accept. */
export const CALLBACK_URL_LENGTH_MAX = 2048

export const PAGE_SIZE_DEFAULT = 100
export const PAGE_SIZE_MAX = 500
/** Clients that poll `package/list` start this long before the last `asOf`, so that they see late commits. */
export const UPDATED_SINCE_OVERLAP_MS = 5 * 60_000

export const BODY_SIZE_MAX_BYTES = 256 * 1024
export const JSON_DEPTH_MAX = 8
/** The number of faults listed in one answer; the first one decides the code. */
export const FAULT_DETAILS_MAX = 20

export const CLOCK_WINDOW_MS = 300_000
/** A RequestID stays used for this long after its timestamp has left the clock window. */
export const REQUEST_ID_KEPT_MS = 3_600_000
export const EVENT_TOLERANCE_S = 300

/** Used if the deployment does not configure a default. */
export const QPS_LIMIT_DEFAULT = 100
/** Applies to a deployment's default and to a tenant's own limit. */
export const QPS_LIMIT_MAX = 100_000
/** The time a receiver has to answer an event, including connecting. */
export const EVENT_TIMEOUT_MS = 10_000
export const CHECK_HEALTH_TIMEOUT_MS = 5_000
export const CHECK_HEALTH_PER_MINUTE_MAX = 10

/** Money is a JSON integer in 1/10 000 of the currency, so a double must hold it exactly. */
export const MONEY_MAX = Number.MAX_SAFE_INTEGER

/** One call of `test/clock/advance`: 366 days. */
export const CLOCK_ADVANCE_MAX_HOURS = 8_784
/** How far test time may be ahead in all: ten years. */
export const TEST_TIME_AHEAD_MAX_HOURS = 87_840
/** `usedPercent` of `test/esim/update`: more than all, because suppliers report such usage too. */
export const USED_PERCENT_MAX = 1_000

/** Restricted keys of one tenant that are not revoked: one per program. */
export const RESTRICTED_KEYS_MAX = 20
export const KEY_LABEL_LENGTH_MAX = 64
