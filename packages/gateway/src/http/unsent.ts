import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Watches over answers that their callers do not take, all of them within one budget of memory. */
export interface UnsentAnswers {
  /** To be told of each answer once it was handed to the connection. */
  watch(response: ServerResponse, sizeBytes: number): void
}

/**
 * Whoever asks and does not read keeps the answer in our memory. Beyond the budget it is the connection that holds most of
 * it which is ended, whoever came last: a slow reader has one answer under way, whoever is up to something has many.
 * @param mostBytes of answers that the system has not taken, of all callers
 */
export function unsentAnswers(mostBytes: number): UnsentAnswers {
  const held = new Map<Socket, number>()
  const followed = new WeakSet<Socket>()
  let heldBytes = 0

  function forget(socket: Socket): void {
    heldBytes -= held.get(socket) ?? 0
    held.delete(socket)
  }

  function taken(socket: Socket, sizeBytes: number): void {
    const bytes = held.get(socket)
    if (bytes === undefined) return // the connection was ended
    heldBytes -= sizeBytes
    if (bytes === sizeBytes) held.delete(socket)
    else held.set(socket, bytes - sizeBytes)
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
    watch(response, sizeBytes) {
      if (response.writableLength === 0) return // nearly every answer: the system took it at once
      const { socket } = response.req
      if (socket.destroyed) return
      if (!followed.has(socket)) {
        followed.add(socket)
        socket.once('close', () => forget(socket))
      }
      held.set(socket, (held.get(socket) ?? 0) + sizeBytes)
      heldBytes += sizeBytes
      response.once('finish', () => taken(socket, sizeBytes))
      while (heldBytes > mostBytes && held.size > 0) endLargest()
    },
  }
}
