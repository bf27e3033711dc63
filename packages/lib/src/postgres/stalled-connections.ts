/**
 * Closes connections whose server has stopped responding. A machine that dies, for example in a failover, sends neither
 * FIN nor RST: without this, a statement would wait for TCP's timeout, 15 minutes to two hours.
 *
 * All pools of one server share it. Once a connection has stalled, those that have received nothing since its request was
 * sent have most likely lost the same server: statements that wait on them fail immediately, and idle ones are not used again.
 */
export interface StalledConnections<Connection> {
  /** @param limitMs how long a connection may receive nothing while a response is due */
  within(limitMs: number): ResponseWatch<Connection>
  /** True if it last received data before another connection stalled, so its server may have died too. */
  isSuspect(connection: Connection): boolean
}

export interface ResponseWatch<Connection> {
  /** Called when a request was sent, so that a response is due. */
  sent(connection: Connection): void
  /** Called when the server sent something. */
  received(connection: Connection): void
  /** Called when a due response is complete, or will never come. */
  completed(connection: Connection): void
}

interface ConnectionState {
  due: number
  receivedAt: number
  timer: NodeJS.Timeout | undefined
}

/** @param end called with each connection that has stalled, or probably has */
export function watchStalledConnections<Connection extends object>(
  end: (connection: Connection) => void,
): StalledConnections<Connection> {
  const states = new WeakMap<Connection, ConnectionState>()
  const waiting = new Set<Connection>()
  let suspectBefore = Number.NEGATIVE_INFINITY

  function stateOf(connection: Connection): ConnectionState {
    const known = states.get(connection)
    if (known) return known
    const state: ConnectionState = { due: 0, receivedAt: performance.now(), timer: undefined }
    states.set(connection, state)
    return state
  }

  const isSuspect = (connection: Connection) => stateOf(connection).receivedAt < suspectBefore

  /** After a pause of this process, the timer fires before a response that has arrived in the meantime is read. */
  function readThenJudge(connection: Connection, limitMs: number): void {
    const { receivedAt } = stateOf(connection)
    setImmediate(() => {
      const state = stateOf(connection)
      if (state.due === 0) return
      if (state.receivedAt === receivedAt) handleStall(connection, limitMs)
      else state.timer?.refresh()
    })
  }

  function handleStall(connection: Connection, limitMs: number): void {
    suspectBefore = Math.max(suspectBefore, performance.now() - limitMs)
    end(connection)
    for (const other of [...waiting]) if (other !== connection && isSuspect(other)) end(other)
  }

  const watch = {
    received(connection: Connection) {
      const state = stateOf(connection)
      state.receivedAt = performance.now()
      state.timer?.refresh()
    },
    completed(connection: Connection) {
      const state = stateOf(connection)
      state.receivedAt = performance.now()
      if (--state.due > 0) return void state.timer?.refresh()
      clearTimeout(state.timer)
      state.timer = undefined
      waiting.delete(connection)
    },
  }
  return {
    within: (limitMs) => ({
      ...watch,
      sent(connection) {
        const state = stateOf(connection)
        if (state.due++ > 0) return
        waiting.add(connection)
        state.timer = setTimeout(readThenJudge, limitMs, connection, limitMs)
      },
    }),
    isSuspect,
  }
}
