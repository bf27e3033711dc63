import type { OutboundOutcome } from '../../lib/outbound/outbound.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Waits between the attempts of one event (contract §7). After the last one the delivery is DEAD. */
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
/** Each wait is up to a fifth shorter or longer, so that what failed together does not come back together. */
const JITTER = 0.2
/** A receiver may ask for more time with Retry-After: up to this many times the step. */
const RETRY_AFTER_MAX_STEPS = 2
/**
 * An event may be sent again until so long after its recording: DEAD it is resendable for 30 days (contract §7), and its
 * first attempts take nearly 6 at the most. Later its partition could be dropped while it still has attempts before it
 * (retention/table.ts keeps it for 6 days more).
 */
export const SENDABLE_DAYS = 36

/**
 * What follows from an attempt:
 *
 *     2xx                         ACKNOWLEDGED   the event is DELIVERED
 *     410                         GONE           the endpoint is disabled; the event is retried if it is enabled again
 *     anything else, steps left   RETRY          at the next step
 *     anything else, none left    DEAD           kept, and resendable
 */
export type NextStep =
  | { step: 'ACKNOWLEDGED' }
  | { step: 'RETRY'; dueMs: number; gone: boolean }
  | { step: 'DEAD'; gone: boolean }

/**
 * @param attempts those made since the event was recorded or last replayed, this one included
 * @param nowMs when the attempt ended, by the database's clock
 * @param chance in [0, 1), asked for where there is something to jitter
 */
export function nextStep(outcome: OutboundOutcome, attempts: number, nowMs: number, chance: () => number): NextStep {
  if (isAcknowledged(outcome)) return { step: 'ACKNOWLEDGED' }
  const gone = outcome.kind === 'answer' && outcome.status === 410
  const stepMs = RETRY_STEPS_MS[attempts - 1]
  if (stepMs === undefined) return { step: 'DEAD', gone }
  const jitteredMs = stepMs * (1 - JITTER + 2 * JITTER * chance())
  const askedMs = Math.min(retryAfterMs(outcome, nowMs) ?? 0, RETRY_AFTER_MAX_STEPS * stepMs)
  return { step: 'RETRY', dueMs: nowMs + Math.max(jitteredMs, askedMs), gone }
}

export function isAcknowledged(outcome: OutboundOutcome): boolean {
  return outcome.kind === 'answer' && outcome.status >= 200 && outcome.status < 300
}

/** What was recorded before then is not sent again. */
export function sendableSince(nowMs: number): Date {
  return new Date(nowMs - SENDABLE_DAYS * 24 * HOUR)
}

/** What the answer's Retry-After asks for, in either of its forms. */
function retryAfterMs(outcome: OutboundOutcome, nowMs: number): number | undefined {
  const text = outcome.kind === 'answer' ? outcome.headers['retry-after'] : undefined
  if (typeof text !== 'string') return undefined
  // As many digits as it likes, to infinity: what is asked for is capped.
  if (/^\d+$/.test(text)) return Number(text) * SECOND
  const moment = Date.parse(text)
  return Number.isNaN(moment) ? undefined : Math.max(0, moment - nowMs)
}
