import type { Clock } from '@dealer-esim/lib/clock.ts'

/**
 * Paces refusals. A caller that sends the next request as soon as it is refused would otherwise take most of the
 * thread's time, because reading, checking and refusing a request costs as much as serving one. Until a caller is
 * answered, it sends nothing more.
 *
 *   refusals.pace(() => response.writeHead(503).end())
 */
export interface Refusals {
  /** @param write called immediately while few are refused, otherwise in order, a moment later */
  pace(write: () => void): void
}

export interface RefusalPace {
  perSecond: number
  /** The number written immediately. */
  saved: number
  /**
   * If the waiting refusals would take longer than this, more are written per second, so that all of them take about this
   * long.
   */
  waitMs: number
}

/**
 * `saved` is enough for what one caller sends at a time, such as 200 orders with a quota of 100. If 2 000 callers are
 * refused simultaneously, the last one waits 2.4 s.
 */
export const OF_REQUESTS: RefusalPace = { perSecond: 500, saved: 256, waitMs: 1_000 }
/**
 * Bodies that are refused cost as much as dozens of requests: Node reads a body to its end. A sender does not send the next
 * body until the refusal. If 1 000 are refused simultaneously, the last one waits half a minute.
 */
export const OF_BODIES: RefusalPace = { perSecond: 20, saved: 10, waitMs: 10_000 }

const BETWEEN_TURNS_MS = 2

export function createRefusals(
  clock: Pick<Clock, 'monotonic'>,
  { perSecond, saved: savedMax, waitMs }: RefusalPace,
): Refusals {
  let waiting: (() => void)[] = []
  let saved = savedMax
  let savedAt = clock.monotonic()
  let isScheduled = false

  function save(): void {
    const now = clock.monotonic()
    const perMs = Math.max(perSecond / 1000, waiting.length / waitMs)
    saved = Math.min(savedMax, saved + (now - savedAt) * perMs)
    savedAt = now
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(writeSome, BETWEEN_TURNS_MS)
  }

  function writeSome(): void {
    isScheduled = false
    save()
    const written = waiting.slice(0, Math.floor(saved))
    saved -= written.length
    waiting = waiting.slice(written.length)
    if (waiting.length > 0) schedule()
    for (const write of written) write()
  }

  return {
    pace(write) {
      if (waiting.length === 0) save()
      if (waiting.length > 0 || saved < 1) {
        waiting.push(write)
        schedule()
        return
      }
      saved -= 1
      write()
    },
  }
}
