import type { Socket } from 'node:net'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { RequestLimit } from './request-limit.ts'

/** Starts requests one at a time, in order of arrival. */
export interface PageQueue {
  /**
   * Calls `start` immediately, or in a later turn of the event loop, unless the caller has gone away by then.
   * @returns false if too many requests are waiting
   */
  enter(socket: Socket, start: () => void): boolean
}

/** Two seconds' work while dealers send requests. With more waiting, a prompt refusal is better than a longer wait. */
export const WAITING_MAX = 1_000
/** Per connection. Browsers and proxies send the next request after the answer; a client that pipelines more is cut off. */
export const PIPELINED_MAX = 16
/** Between two pages while dealers send requests: 500 pages a second, each of which takes the thread for some 300 µs. */
const PAUSE_MS = 2
/** How long after a request they count as sending. */
const BUSY_MS = 100

interface PageQueueDeps {
  clock: Pick<Clock, 'monotonic'>
  requests: Pick<RequestLimit, 'inProgress'>
  countRefused(): void
}

/**
 * Queues requests for pages. One turn of the event loop brings one request from each connection, and a dealer's call needs
 * several turns. With two hundred connections that keep requesting pages, each of those turns would take as long as two
 * hundred pages. With the queue, a turn serves one page, and while dealers send requests the next one starts two milliseconds later.
 * If only pages are requested, the queue costs nothing, because the next turn follows immediately.
 */
export function createPageQueue({ clock, requests, countRefused }: PageQueueDeps): PageQueue {
  const waiting: { socket: Socket; start(): void }[] = []
  const waitingOf = new Map<Socket, number>()
  let hasStarted = false
  let busyUntil = 0

  function startNow(start: () => void): void {
    hasStarted = true
    const now = clock.monotonic()
    if (requests.inProgress() > 0) busyUntil = now + BUSY_MS
    if (now < busyUntil) setTimeout(nextTurn, PAUSE_MS)
    else setImmediate(nextTurn)
    start()
  }

  function nextTurn(): void {
    hasStarted = false
    while (!hasStarted && waiting.length > 0) {
      const { socket, start } = waiting.shift()!
      const others = waitingOf.get(socket)! - 1
      if (others > 0) waitingOf.set(socket, others)
      else waitingOf.delete(socket)
      if (!socket.destroyed) startNow(start)
    }
  }

  return {
    enter(socket, start) {
      if (!hasStarted) {
        startNow(start)
        return true
      }
      const own = (waitingOf.get(socket) ?? 0) + 1
      if (own > PIPELINED_MAX) socket.destroy()
      if (socket.destroyed) return true
      if (waiting.length >= WAITING_MAX) {
        countRefused()
        return false
      }
      waitingOf.set(socket, own)
      waiting.push({ socket, start })
      return true
    },
  }
}
