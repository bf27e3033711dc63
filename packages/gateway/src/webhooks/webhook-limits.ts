import { EVENT_TIMEOUT_MS } from '@dealer-esim/contract'

/** The number of requests that this node has in flight. Limits sockets and memory. */
export const IN_FLIGHT_MAX = 512
/** The part of IN_FLIGHT_MAX available to endpoints whose latest attempt failed. */
export const FAILING_IN_FLIGHT_MAX = IN_FLIGHT_MAX / 2
/**
 * The part available to failing endpoints and to endpoints that have not responded yet, together. A quarter always remains
 * for endpoints that respond.
 */
export const UNPROVEN_IN_FLIGHT_MAX = (IN_FLIGHT_MAX * 3) / 4

/** Requests in flight to one endpoint. Its limit grows by one with each success and is halved on each failure. */
export const ENDPOINT_IN_FLIGHT_MAX = 64
/**
 * The initial limit is low, because a receiver that hangs holds a request for 10 s. Five rounds of successes reach the
 * maximum.
 */
export const ENDPOINT_IN_FLIGHT_FIRST = 2
/** The number of requests that a hanging receiver can hold. */
export const ENDPOINT_IN_FLIGHT_MIN = 2

/** Events claimed for an endpoint that responds promptly, as a multiple of its in-flight limit. */
export const CLAIM_AHEAD_FACTOR = 8
/** After this many consecutive claims, one starts at the first due event again, to find events committed late. */
export const CLAIMS_BEFORE_RESTART = 16
/** Nothing is claimed ahead for endpoints that respond more slowly than this on average. */
export const PROMPT_MS = 1_000
/** Events of this node that are claimed, in flight or waiting for their result to be saved. Limits memory. */
export const CLAIMED_MAX = 5_000

/** How long a claim holds its endpoint queue. Another node can then send a crashed node's events. */
export const LEASE_MS = 30_000
/**
 * An attempt starts only if the lease lasts at least this much longer: the attempt's time limit, plus time to save the
 * result.
 */
export const LEASE_MARGIN_MS = EVENT_TIMEOUT_MS + 5_000

/** Finds events whose wakeup was lost. A busy node also lists all tenants with due events this often. */
export const POLL_MS = 1_000
/** The pause between passes: under load there are thousands of wakeups per second. */
export const PASS_GAP_MS = 4
/** The number of tenants listed in one pass; the next pass continues after them. */
export const TENANTS_PER_PASS = 500
/** Tenants per claim transaction. */
export const TENANTS_PER_CLAIM = 20
/** Events that one step marks UNSENT, or that one step of a replay makes due. */
export const STEP_MAX = 1_000
/** The number of results saved by one transaction. */
export const RESULTS_MAX = 1_000
/** After a batch of at least this many results, the next transaction waits for more. */
export const RESULTS_TO_GATHER = 8
export const RESULTS_GATHER_MS = 40

/** A response is cut off at this size and counts as complete. */
export const ANSWER_READ_BYTES = 64 * 1024
/** The amount of a response that the log keeps. */
export const ANSWER_KEPT_BYTES = 4 * 1024

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Waits between the attempts for one event. After the last attempt, the delivery is DEAD. */
export const RETRY_STEPS_MS: readonly number[] = [
  10 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  24 * HOUR,
  24 * HOUR,
]
/** Retry-After is honoured up to this many times the step. */
export const RETRY_AFTER_MAX_STEPS = 2
/**
 * An event can be sent until this many days after it was recorded: its first attempts take almost 6 days, and a DEAD event
 * can be resent for 30 days. Retention keeps events for 6 more days (platform/retention/retention-table.ts), for the
 * attempts of a late resend.
 */
export const SENDABLE_DAYS = 36
