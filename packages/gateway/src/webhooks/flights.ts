import type { Lane } from './lane.ts'
import { FAILING_FLIGHTS_MOST, FLIGHTS_MOST } from './limits.ts'

/**
 * Whose turn it is. Lanes take turns event by event, so that a long queue waits for itself only; those whose endpoint
 * fails share a part of the flights, so that receivers that hang, however many, leave room for those that answer.
 */
export interface Flights {
  /** The lane has something to send: it gets its turn. */
  offer(lane: Lane): void
  ended(lane: Lane, wasFailing: boolean): void
  readonly flying: number
}

/** `fly` takes one event off the lane's queue and calls `ended` when it is done. */
export function flightQueue(fly: (lane: Lane) => void): Flights {
  const healthy: Lane[] = []
  const failing: Lane[] = []
  let flying = 0
  let failingFlying = 0
  let failingTurn = false

  function next(): Lane | undefined {
    const failingMay = failingFlying < FAILING_FLIGHTS_MOST && failing.length > 0
    failingTurn = !failingTurn
    return (failingMay && failingTurn ? failing : healthy).shift() ?? (failingMay ? failing.shift() : undefined)
  }

  function start(): void {
    while (flying < FLIGHTS_MOST) {
      const lane = next()
      if (!lane) return
      lane.waiting = false
      if (!mayFly(lane)) continue
      flying++
      if (lane.failing) failingFlying++
      lane.flying++
      fly(lane)
      enqueue(lane)
    }
  }

  function enqueue(lane: Lane): void {
    if (lane.waiting || !mayFly(lane)) return
    lane.waiting = true
    ;(lane.failing ? failing : healthy).push(lane)
  }

  return {
    get flying() {
      return flying
    },
    offer(lane) {
      enqueue(lane)
      start()
    },
    ended(lane, wasFailing) {
      flying--
      lane.flying--
      if (wasFailing) failingFlying--
      enqueue(lane)
      start()
    },
  }
}

function mayFly(lane: Lane): boolean {
  return lane.queue.length > 0 && lane.flying < lane.cap
}
