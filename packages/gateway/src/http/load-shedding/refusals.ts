import type { Clock } from '@dealer-esim/lib/clock.ts'

/**
 * Paces answers that refuse. A caller that sends the next request as soon as it is refused would otherwise take most of the
 * thread's time, because reading, checking and refusing a request costs as much as serving one. Until a caller is answered, it
 * sends nothing more.
 *
 *   refusals.pace(() => response.writeHead(503).end())
 *
 * @param write called immediately while few are refused, otherwise in order a moment later: within a second or so, however
 *   many wait
 */
export interface Refusals {
  pace(write: () => void): void
}

/** As many as one caller sends together are answered immediately: 200 simultaneous orders with a quota of 100. */
export const SAVED_MAX = 256
const BETWEEN_TURNS_MS = 2
/** A thousand a second. */
const WRITTEN_PER_TURN = 2
/** Thousands of callers wait for a second together, after which `Retry-After` lets them return anyway. */
const TURNS_MAX = 500

export function createRefusals(clock: Pick<Clock, 'monotonic'>): Refusals {
  let waiting: (() => void)[] = []
  let saved = SAVED_MAX
  let savedAt = clock.monotonic()
  let isScheduled = false

  function save(): void {
    const now = clock.monotonic()
    saved = Math.min(SAVED_MAX, saved + ((now - savedAt) / BETWEEN_TURNS_MS) * WRITTEN_PER_TURN)
    savedAt = now
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(writeSome, BETWEEN_TURNS_MS)
  }

  function writeSome(): void {
    isScheduled = false
    saved = 0
    savedAt = clock.monotonic()
    const count = Math.max(WRITTEN_PER_TURN, Math.ceil(waiting.length / TURNS_MAX))
    const written = waiting.slice(0, count)
    waiting = waiting.slice(count)
    if (waiting.length > 0) schedule()
    for (const write of written) write()
  }

  return {
    pace(write) {
      if (waiting.length === 0) save()
      if (waiting.length === 0 && saved >= 1) {
        saved -= 1
        write()
        return
      }
      waiting.push(write)
      schedule()
    },
  }
}
