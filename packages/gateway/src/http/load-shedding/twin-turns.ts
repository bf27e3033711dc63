import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Clock } from '@dealer-esim/lib/clock.ts'

/** Lets requests of test twins yield to those of live dealers. */
export interface TwinTurns {
  /** Called for each request of a live dealer. */
  noteLive(): void
  /**
   * @returns undefined if the twin's request may start now
   * @throws ApiError 000002 if too many are waiting
   */
  take(): Promise<void> | undefined
}

/** Between two requests of twins while live dealers send some: 50 a second. A twin's order costs as much as a live one. */
const PAUSE_MS = 20
/** How long after a request they count as sending. */
const BUSY_MS = 100
/** Half of the requests that may be in progress on a slow machine (request-limit.ts), so that live dealers find room. */
export const TWINS_WAITING_MAX = 32

export function createTwinTurns(clock: Pick<Clock, 'monotonic'>, countRefused: () => void): TwinTurns {
  const waiting: (() => void)[] = []
  let busyUntil = Number.NEGATIVE_INFINITY
  let takenAt = Number.NEGATIVE_INFINITY

  /** How long the next one waits. */
  function pauseMs(): number {
    const now = clock.monotonic()
    return now < busyUntil ? Math.max(0, takenAt + PAUSE_MS - now) : 0
  }

  function next(): void {
    while (waiting.length > 0) {
      const pause = pauseMs()
      if (pause > 0) {
        setTimeout(next, pause)
        return
      }
      takenAt = clock.monotonic()
      waiting.shift()!()
    }
  }

  return {
    noteLive() {
      busyUntil = clock.monotonic() + BUSY_MS
    },
    take() {
      if (waiting.length === 0 && pauseMs() === 0) {
        takenAt = clock.monotonic()
        return undefined
      }
      if (waiting.length >= TWINS_WAITING_MAX) {
        countRefused()
        throw new ApiError('000002')
      }
      return new Promise((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 1) setTimeout(next, pauseMs())
      })
    },
  }
}
