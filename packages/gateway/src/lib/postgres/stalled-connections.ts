/**
 * Closes connections whose server has stopped responding. A machine that dies, for example in a failover, sends neither
 * FIN nor RST: without this, a statement would wait for TCP's timeout, 15 minutes to two hours.
 */
export interface StalledConnections<Connection> {
  /** A request was sent; a response is due. */
  sent(connection: Connection): void
  /** The server sent something. */
  received(connection: Connection): void
  /** A due response is complete, or will never come. */
  completed(connection: Connection): void
  /** Last received data before another connection stalled: its server may have died too. */
  isSuspect(connection: Connection): boolean
}

interface ConnectionState {
  due: number
  receivedAt: number
  timer: NodeJS.Timeout | undefined
}

/** @param end called with each connection that received nothing for `limitMs` while a response was due */
export function watchStalledConnections<Connection extends object>(
  limitMs: number,
  end: (connection: Connection) => void,
): StalledConnections<Connection> {
  const states = new WeakMap<Connection, ConnectionState>()
  let suspectBefore = Number.NEGATIVE_INFINITY

  function stateOf(connection: Connection): ConnectionState {
    const known = states.get(connection)
    if (known) return known
    const state: ConnectionState = { due: 0, receivedAt: performance.now(), timer: undefined }
    states.set(connection, state)
    return state
  }

  function handleStall(connection: Connection): void {
    suspectBefore = performance.now() - limitMs
    end(connection)
  }

  return {
    sent(connection) {
      const state = stateOf(connection)
      if (state.due++ === 0) state.timer = setTimeout(handleStall, limitMs, connection)
    },
    received(connection) {
      stateOf(connection).timer?.refresh()
    },
    completed(connection) {
      const state = stateOf(connection)
      state.receivedAt = performance.now()
      if (--state.due > 0) return void state.timer?.refresh()
      clearTimeout(state.timer)
      state.timer = undefined
    },
    isSuspect: (connection) => stateOf(connection).receivedAt < suspectBefore,
  }
}
