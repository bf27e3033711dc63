import type { Lane } from './lane.ts'
import { FAILING_FLIGHTS_MAX, FLIGHTS_MAX, UNPROVEN_FLIGHTS_MAX } from './limits.ts'

/**
 * Whose turn it is. Lanes take turns event by event, so that a long queue waits for itself only. Endpoints that fail,
 * and those that have not answered yet, share a part of the flights: receivers that hang, however many, leave room for
 * those that answer.
 */
export interface Flights {
  /** The lane has something to send: it gets its turn. */
  offer(lane: Lane): void
  /** @param standing the lane's when the flight began */
  ended(lane: Lane, standing: Lane['standing']): void
  readonly flying: number
}

const STANDINGS = ['PROVEN', 'NEW', 'FAILING'] as const

/** `fly` takes one event off the lane's queue, calls `ended` when it is done, and does not throw. */
export function flightQueue(fly: (lane: Lane) => void): Flights {
  const waiting: Record<Lane['standing'], Lane[]> = { PROVEN: [], NEW: [], FAILING: [] }
  const flying: Record<Lane['standing'], number> = { PROVEN: 0, NEW: 0, FAILING: 0 }
  let turn = 0
  let starting = false

  const total = () => flying.PROVEN + flying.NEW + flying.FAILING
  const unproven = () => flying.NEW + flying.FAILING

  function hasRoom(standing: Lane['standing']): boolean {
    switch (standing) {
      case 'PROVEN':
        return total() < FLIGHTS_MAX
      case 'NEW':
        return total() < FLIGHTS_MAX && unproven() < UNPROVEN_FLIGHTS_MAX
      case 'FAILING':
        return total() < FLIGHTS_MAX && unproven() < UNPROVEN_FLIGHTS_MAX && flying.FAILING < FAILING_FLIGHTS_MAX
      default:
        return standing satisfies never
    }
  }

  /** The kinds take turns as well. */
  function next(): Lane | undefined {
    turn++
    for (let offset = 0; offset < STANDINGS.length; offset++) {
      const standing = STANDINGS[(turn + offset) % STANDINGS.length]!
      if (waiting[standing].length > 0 && hasRoom(standing)) return waiting[standing].shift()
    }
    return undefined
  }

  function start(): void {
    // A flight may end as it begins: whoever follows it is begun here, not from within it, or the stack would end first.
    if (starting) return
    starting = true
    for (let lane = next(); lane; lane = next()) {
      lane.waiting = false
      if (!mayFly(lane)) continue
      flying[lane.standing]++
      lane.flying++
      fly(lane)
      enqueue(lane)
    }
    starting = false
  }

  function enqueue(lane: Lane): void {
    if (lane.waiting || !mayFly(lane)) return
    lane.waiting = true
    waiting[lane.standing].push(lane)
  }

  return {
    get flying() {
      return total()
    },
    offer(lane) {
      enqueue(lane)
      start()
    },
    ended(lane, standing) {
      flying[standing]--
      lane.flying--
      enqueue(lane)
      start()
    },
  }
}

function mayFly(lane: Lane): boolean {
  return lane.queue.length > 0 && lane.flying < lane.cap
}
