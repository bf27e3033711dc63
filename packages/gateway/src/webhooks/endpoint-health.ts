const HOUR = 3_600_000

/** An endpoint that has failed for this long since the first failure after its last success is disabled. */
export const FAILING_MAX_HOURS = 72
export const FAILING_MAX_MS = FAILING_MAX_HOURS * HOUR
/** The tenant is warned on the way, in percent of the window. */
const WARNINGS_PERCENT = [90, 75, 50] as const

export interface EndpointHealth {
  /** The first failure after the last success; null: it is well. */
  failingSinceMs: number | null
  /** The latest warning given since. */
  warnedPercent: number
}

export type HealthChange =
  | { change: 'NONE' }
  /** The first failure after a success. */
  | { change: 'FAILING'; sinceMs: number }
  | { change: 'WARN'; percent: number; sinceMs: number }
  | { change: 'DISABLE'; reason: 'FAILING' | 'GONE'; sinceMs: number }

/**
 * What a failed attempt does to its endpoint. Only a failure decides: an endpoint that nothing is sent to is never
 * disabled, however long ago it failed.
 */
export function afterFailure(health: EndpointHealth, failedAtMs: number, gone: boolean): HealthChange {
  const sinceMs = health.failingSinceMs ?? failedAtMs
  if (gone) return { change: 'DISABLE', reason: 'GONE', sinceMs }
  const failingMs = failedAtMs - sinceMs
  if (failingMs >= FAILING_MAX_MS) return { change: 'DISABLE', reason: 'FAILING', sinceMs }
  const percent = WARNINGS_PERCENT.find((warning) => failingMs >= (FAILING_MAX_MS * warning) / 100)
  if (percent !== undefined && percent > health.warnedPercent) return { change: 'WARN', percent, sinceMs }
  return health.failingSinceMs === null ? { change: 'FAILING', sinceMs } : { change: 'NONE' }
}
