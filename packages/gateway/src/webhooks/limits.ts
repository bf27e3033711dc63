import { EVENT_TIMEOUT_MS } from '@dealer-esim/contract'

/** Requests under way at once, of this node. Bounds sockets and memory. */
export const IN_FLIGHT_MAX = 512
/** Of those, what endpoints whose latest attempt failed may hold together. */
export const FAILING_IN_FLIGHT_MAX = IN_FLIGHT_MAX / 2
/** And with them those that have not answered yet: a quarter always stays for endpoints that answer. */
export const UNPROVEN_IN_FLIGHT_MAX = (IN_FLIGHT_MAX * 3) / 4

/** Requests under way at one endpoint. The cap grows by one with each success and is halved by each failure. */
export const ENDPOINT_IN_FLIGHT_MAX = 64
/** Few at first, because a receiver that hangs holds them for 10 s; five rounds of successes lead to the most. */
export const ENDPOINT_IN_FLIGHT_FIRST = 2
/** What a receiver that hangs holds for as long as it hangs. */
export const ENDPOINT_IN_FLIGHT_MIN = 2

/** Events claimed ahead for an endpoint that answers promptly, as a multiple of its cap. */
export const CLAIM_AHEAD_FACTOR = 8
/** Claims that go on one behind the other. The next one looks from the first: what came due late may have been committed. */
export const CLAIMS_BEFORE_RESTART = 16
/** Longer mean answers than this, and nothing is claimed ahead. */
export const PROMPT_MS = 1_000
/** Claimed, under way or waiting to be written down, of this node. */
export const CLAIMED_MAX = 5_000

/** How long a claim holds its lane: what a crashed node had in hand goes to another after this. */
export const LEASE_MS = 30_000
/** An attempt begins only while this much of the lease is left: its time limit, and time to write the result. */
export const LEASE_MARGIN_MS = EVENT_TIMEOUT_MS + 5_000

/** The net under the wake-up. */
export const POLL_MS = 1_000
/** Wake-ups come by the thousand under load; passes do not. */
export const PASS_GAP_MS = 4
/** Tenants looked at in one pass; the next one goes on behind them. */
export const TENANTS_PER_PASS = 500
/** Tenants claimed for in one transaction. */
export const TENANTS_PER_CLAIM = 20
/** Events that one step turns UNSENT, or a replay makes due. */
export const STEP_MAX = 1_000
/** Results that one transaction writes. */
export const RESULTS_MAX = 1_000
/** Where results come by the dozen, the next transaction waits until some more have gathered. */
export const RESULTS_TO_GATHER = 8
export const RESULTS_GATHER_MS = 40

/** What is read of an answer before the connection is cut; it counts as complete then. */
export const ANSWER_READ_BYTES = 64 * 1024
/** What is kept of it. */
export const ANSWER_KEPT_BYTES = 4 * 1024
