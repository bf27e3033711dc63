import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createGzip } from 'node:zlib'

/** Takes the parts of an answer and hands them to the connection, either unchanged or compressed. */
export interface ListSink {
  /** @returns false if the next part must wait for `ready` */
  write(part: string): boolean
  /** Waits until the reader has taken enough. Returns early if it has gone away. Cuts off a reader that reads nothing. */
  ready(): Promise<void>
  /** Writes the last part and ends the answer. */
  end(part: string): Promise<void>
  /** Frees the memory of an answer that has ended or was abandoned. */
  close(): void
}

export function createListSink(
  response: ServerResponse,
  { stalledMs, isZipped }: { stalledMs: number; isZipped: boolean },
): ListSink {
  if (isZipped) return gzipSink(response, stalledMs)
  return {
    write: (part) => response.write(part),
    ready: () => untilTaken(response, response, 'drain', stalledMs),
    async end(part) {
      response.end(part)
    },
    close() {},
  }
}

/**
 * A window of 16 KiB holds about twenty packages, which have nearly all of their text in common. With these settings a
 * compressor takes 128 KiB, and a list becomes a fifteenth of its length; the defaults take twice as much for a few
 * percent.
 */
const GZIP = { level: 4, windowBits: 14, memLevel: 7 }

/** Compresses in a separate thread. What the reader does not take stops the compressor, and that stops `write`. */
function gzipSink(response: ServerResponse, stalledMs: number): ListSink {
  const gzip = createGzip(GZIP)
  gzip.on('error', () => response.req.socket.destroy())
  gzip.pipe(response)
  return {
    write: (part) => gzip.write(part),
    ready: () => untilTaken(response, gzip, 'drain', stalledMs),
    async end(part) {
      gzip.end(part)
      await untilTaken(response, gzip, 'end', stalledMs)
    },
    close: () => void gzip.destroy(),
  }
}

/** True if the reader has gone away. An answer that waits for an earlier one on its connection has no event for that. */
export function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.req.socket.destroyed
}

async function untilTaken(
  response: ServerResponse,
  emitter: NodeJS.EventEmitter,
  event: 'drain' | 'end',
  stalledMs: number,
): Promise<void> {
  const { socket } = response.req
  if (isGone(response)) return
  const waiting = new AbortController()
  const { signal } = waiting
  try {
    await Promise.race([
      once(emitter, event, { signal }),
      once(socket, 'close', { signal }),
      delay(stalledMs, undefined, { signal }).then(() => socket.destroy()),
    ])
  } finally {
    waiting.abort()
  }
}
