import type { FastifyInstance } from 'fastify'
import { ApiError } from '../lib/api-error.ts'

/** Lets requests begin a few at a time, in the order in which they came. */
export interface Turns {
  /** Calls `go` at once, or in a later turn of the event loop. @returns false where too many wait, and `go` is not called */
  wait(go: () => void): boolean
}

/** A page of the console takes some 150 µs: a millisecond of each turn at most is theirs. */
export const BEGUN_A_TURN = 4
/** Who pipelines thousands of requests on one connection would have them all kept in memory otherwise. */
export const WAITING_MAX = 1_000

/**
 * One turn of the event loop brings a request of each connection, and a dealer's call needs several turns. Where two
 * hundred connections ask for pages all the time, each of those turns would last as long as two hundred pages: with few
 * begun in each, a dealer waits for few. Alone, the pages lose nothing by it: the next turn comes at once.
 */
export function openTurns(): Turns {
  const waiting: (() => void)[] = []
  let begun = 0

  function begin(go: () => void): void {
    if (begun++ === 0) setImmediate(next)
    go()
  }

  function next(): void {
    begun = 0
    for (const go of waiting.splice(0, BEGUN_A_TURN)) begin(go)
  }

  return {
    wait(go) {
      if (begun < BEGUN_A_TURN) begin(go)
      else if (waiting.length < WAITING_MAX) waiting.push(go)
      else return false
      return true
    },
  }
}

/** For a door that is not the dealers': what it serves takes turns. Before its other hooks, which cost time as well. */
export function takesTurns(app: FastifyInstance, turns: Turns): void {
  app.addHook('onRequest', (_request, _reply, done) => {
    if (!turns.wait(done)) done(new ApiError('000002'))
  })
}
