import { FAILING_IN_FLIGHT_MAX, IN_FLIGHT_MAX, UNPROVEN_IN_FLIGHT_MAX } from '../webhook-limits.ts'
import type { EndpointQueue } from './endpoint-queue.ts'

/**
 * Decides which endpoint queue sends next. Queues take turns event by event, so a long queue delays only itself. Endpoints
 * that fail or have not responded yet are limited to part of the capacity, so however many receivers hang, the rest remains
 * for endpoints that respond.
 */
export interface Scheduler {
  /** Called when the queue has something to send. */
  schedule(queue: EndpointQueue): void
  /** @param health that of the queue when the request started */
  finished(queue: EndpointQueue, health: EndpointQueue['health']): void
  readonly inFlight: number
}

const HEALTHS = ['PROVEN', 'NEW', 'FAILING'] as const

/** `send` takes one event off the queue, calls `finished` when it is done, and does not throw. */
export function createScheduler(send: (queue: EndpointQueue) => void): Scheduler {
  const waiting: Record<EndpointQueue['health'], EndpointQueue[]> = { PROVEN: [], NEW: [], FAILING: [] }
  const inFlight: Record<EndpointQueue['health'], number> = { PROVEN: 0, NEW: 0, FAILING: 0 }
  let turn = 0
  let starting = false

  const total = () => inFlight.PROVEN + inFlight.NEW + inFlight.FAILING
  const unproven = () => inFlight.NEW + inFlight.FAILING

  function hasCapacity(health: EndpointQueue['health']): boolean {
    switch (health) {
      case 'PROVEN':
        return total() < IN_FLIGHT_MAX
      case 'NEW':
        return total() < IN_FLIGHT_MAX && unproven() < UNPROVEN_IN_FLIGHT_MAX
      case 'FAILING':
        return (
          total() < IN_FLIGHT_MAX && unproven() < UNPROVEN_IN_FLIGHT_MAX && inFlight.FAILING < FAILING_IN_FLIGHT_MAX
        )
      default:
        return health satisfies never
    }
  }

  /** Picks the next queue. The three health classes take turns too. */
  function next(): EndpointQueue | undefined {
    turn++
    for (let offset = 0; offset < HEALTHS.length; offset++) {
      const health = HEALTHS[(turn + offset) % HEALTHS.length]!
      if (waiting[health].length > 0 && hasCapacity(health)) return waiting[health].shift()
    }
    return undefined
  }

  function start(): void {
    // A request may finish while it is being started. This loop starts the next one, because recursion would cause a stack
    // overflow.
    if (starting) return
    starting = true
    for (let queue = next(); queue; queue = next()) {
      queue.isScheduled = false
      if (!canSend(queue)) continue
      inFlight[queue.health]++
      queue.inFlight++
      send(queue)
      enqueue(queue)
    }
    starting = false
  }

  function enqueue(queue: EndpointQueue): void {
    if (queue.isScheduled || !canSend(queue)) return
    queue.isScheduled = true
    waiting[queue.health].push(queue)
  }

  return {
    get inFlight() {
      return total()
    },
    schedule(queue) {
      enqueue(queue)
      start()
    },
    finished(queue, health) {
      inFlight[health]--
      queue.inFlight--
      enqueue(queue)
      start()
    },
  }
}

function canSend(queue: EndpointQueue): boolean {
  return queue.queue.length > 0 && queue.inFlight < queue.inFlightMax
}
