import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Watches over answers that their callers do not take, all of them within one budget of memory. */
export interface UnsentAnswers {
  /** To be told of each answer once it was handed to the connection. */
  watch(response: ServerResponse, size_bytes: number): void
}

/**
 * Whoever asks and does not read keeps the answer in our memory. Beyond the budget it is the connection that holds most of
 * it which is ended, whoever came last: a slow reader has one answer under way, whoever is up to something has many.
 * @param most_bytes of answers that the system has not taken, of all callers
 */
export function unsentAnswers(most_bytes: number): UnsentAnswers {
  const held = new Map<Socket, number>()
  const followed = new WeakSet<Socket>()
  let held_bytes = 0

  function forget(socket: Socket): void {
    held_bytes -= held.get(socket) ?? 0
    held.delete(socket)
  }

  function taken(socket: Socket, size_bytes: number): void {
    const bytes = held.get(socket)
    if (bytes === undefined) return // the connection was ended
    held_bytes -= size_bytes
    if (bytes === size_bytes) held.delete(socket)
    else held.set(socket, bytes - size_bytes)
  }

  function endLargest(): void {
    let largest: Socket | undefined
    let most = 0
    for (const [socket, bytes] of held) if (bytes > most) [largest, most] = [socket, bytes]
    if (!largest) return
    forget(largest)
    largest.destroy()
  }

  return {
    watch(response, size_bytes) {
      if (response.writableLength === 0) return // nearly every answer: the system took it at once
      const { socket } = response.req
      if (socket.destroyed) return
      if (!followed.has(socket)) {
        followed.add(socket)
        socket.once('close', () => forget(socket))
      }
      held.set(socket, (held.get(socket) ?? 0) + size_bytes)
      held_bytes += size_bytes
      response.once('finish', () => taken(socket, size_bytes))
      while (held_bytes > most_bytes && held.size > 0) endLargest()
    },
  }
}
