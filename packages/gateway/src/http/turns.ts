import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../lib/api-error.ts'
import { rateLimitedLog } from '../lib/telemetry/log.ts'

/** Lets requests begin a few at a time, in the order in which they came. */
export interface Turns {
  /**
   * Calls `go` at once, or in a later turn of the event loop; never, where the caller has gone away by then.
   * @returns false where too many wait
   */
  wait(socket: Socket, go: () => void): boolean
}

/** A page of the console takes some 150 µs: a millisecond of each turn at most is theirs. */
export const BEGUN_A_TURN = 4
/** Some hundred milliseconds' work: beyond it, saying so is kinder than waiting. */
export const WAITING_MAX = 1_000
/** Of one connection. Browsers and proxies send the next request when they have the answer; who sends thousands is cut off. */
export const PIPELINED_MAX = 16

/**
 * One turn of the event loop brings a request of each connection, and a dealer's call needs several turns. Where two
 * hundred connections ask for pages all the time, each of those turns would last as long as two hundred pages: with few
 * begun in each, a dealer waits for few. Alone, the pages lose nothing by it: the next turn comes at once.
 */
export function openTurns(tellRefused: (count: number) => void): Turns {
  const waiting: { socket: Socket; go(): void }[] = []
  const waitingOf = new Map<Socket, number>()
  const countRefused = rateLimitedLog(tellRefused)
  let begun = 0

  function begin(go: () => void): void {
    if (begun++ === 0) setImmediate(next)
    go()
  }

  function next(): void {
    begun = 0
    while (begun < BEGUN_A_TURN && waiting.length > 0) {
      const { socket, go } = waiting.shift()!
      const others = waitingOf.get(socket)! - 1
      if (others > 0) waitingOf.set(socket, others)
      else waitingOf.delete(socket)
      if (!socket.destroyed) begin(go)
    }
  }

  return {
    wait(socket, go) {
      if (begun < BEGUN_A_TURN) {
        begin(go)
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
      waiting.push({ socket, go })
      return true
    },
  }
}

/** For a door that is not the dealers': what it serves takes turns. Before its other hooks, which cost time as well. */
export function takesTurns(app: FastifyInstance, turns: Turns): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (!turns.wait(request.raw.socket, done)) done(new ApiError('000002'))
  })
}
