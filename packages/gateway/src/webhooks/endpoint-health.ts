const HOUR = 3_600_000

/** An endpoint that has failed for this long since the first failure after its last success is disabled. */
export const FAILING_MAX_HOURS = 72
export const FAILING_MAX_MS = FAILING_MAX_HOURS * HOUR
/** The tenant is warned on the way, in percent of the window. */
const WARNINGS_PERCENT = [90, 75, 50] as const

export interface EndpointHealth {
  /** The first failure after the last success; null: it is well. */
  failingSince_ms: number | null
  /** The latest warning given since. */
  warnedPercent: number
}

export type HealthChange =
  | { change: 'NONE' }
  /** The first failure after a success. */
  | { change: 'FAILING'; since_ms: number }
  | { change: 'WARN'; percent: number; since_ms: number }
  | { change: 'DISABLE'; reason: 'FAILING' | 'GONE'; since_ms: number }

/**
 * What a failed attempt does to its endpoint. Only a failure decides: an endpoint that nothing is sent to is never
 * disabled, however long ago it failed.
 */
export function afterFailure(health: EndpointHealth, failed_at_ms: number, gone: boolean): HealthChange {
  const since_ms = health.failingSince_ms ?? failed_at_ms
  if (gone) return { change: 'DISABLE', reason: 'GONE', since_ms }
  const failing_ms = failed_at_ms - since_ms
  if (failing_ms >= FAILING_MAX_MS) return { change: 'DISABLE', reason: 'FAILING', since_ms }
  const percent = WARNINGS_PERCENT.find((warning) => failing_ms >= (FAILING_MAX_MS * warning) / 100)
  if (percent !== undefined && percent > health.warnedPercent) return { change: 'WARN', percent, since_ms }
  return health.failingSince_ms === null ? { change: 'FAILING', since_ms } : { change: 'NONE' }
}
