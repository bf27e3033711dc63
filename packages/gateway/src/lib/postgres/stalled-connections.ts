/**
 * Ends connections on which an answer is due and nothing comes. A machine that dies, a database's that fails over among
 * them, sends neither FIN nor RST: whoever waits for its answer would wait for TCP, fifteen minutes to two hours.
 */
export interface StalledConnections<Connection> {
  /** An answer is due. */
  sent(connection: Connection): void
  /** The server said something. */
  received(connection: Connection): void
  /** One that was due is complete, or will never be. */
  completed(connection: Connection): void
  /** Not heard since before one fell silent: its server may be the same that has died. */
  isSuspect(connection: Connection): boolean
}

interface ConnectionState {
  due: number
  heardAt: number
  timer: NodeJS.Timeout | undefined
}

/** @param end is told of each connection that was silent for that long while an answer was due */
export function watchStalledConnections<Connection extends object>(
  limitMs: number,
  end: (connection: Connection) => void,
): StalledConnections<Connection> {
  const states = new WeakMap<Connection, ConnectionState>()
  let suspectBefore = Number.NEGATIVE_INFINITY

  function stateOf(connection: Connection): ConnectionState {
    const known = states.get(connection)
    if (known) return known
    const state: ConnectionState = { due: 0, heardAt: performance.now(), timer: undefined }
    states.set(connection, state)
    return state
  }

  function silent(connection: Connection): void {
    suspectBefore = performance.now() - limitMs
    end(connection)
  }

  return {
    sent(connection) {
      const state = stateOf(connection)
      if (state.due++ === 0) state.timer = setTimeout(silent, limitMs, connection)
    },
    received(connection) {
      stateOf(connection).timer?.refresh()
    },
    completed(connection) {
      const state = stateOf(connection)
      state.heardAt = performance.now()
      if (--state.due > 0) return void state.timer?.refresh()
      clearTimeout(state.timer)
      state.timer = undefined
    },
    isSuspect: (connection) => stateOf(connection).heardAt < suspectBefore,
  }
}
