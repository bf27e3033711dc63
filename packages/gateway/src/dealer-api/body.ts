import type { IncomingMessage } from 'node:http'
import { BODY_SIZE_MAX_BYTES } from '@dealer-esim/contract'
import { ApiError } from '../lib/api-error.ts'

/** Reads the bodies of requests, those of all callers within one budget of memory. */
export interface BodyReader {
  /**
   * @returns the bytes as they came, or what to answer instead: 000111 for more than a body may have, 000002 when too
   * much is arriving at once. Rejects when the caller went away.
   */
  read(request: IncomingMessage): Promise<Buffer | ApiError>
}

/** Of bodies that have not arrived whole. Real ones are a thousandth of their limit: this is what floods may take. */
const MOST_ARRIVING_BYTES = 64 * 1024 * 1024

interface Arrival {
  size_bytes: number
  end(outcome: Buffer | ApiError): void
}

/**
 * What arrives slowly or is large must not crowd out the others: beyond the budget, it is the largest of the unfinished
 * bodies that is given up, whoever came last.
 */
export function bodyReader(most_bytes = MOST_ARRIVING_BYTES): BodyReader {
  const arriving = new Set<Arrival>()
  let held_bytes = 0

  function giveUpLargest(): void {
    let largest: Arrival | undefined
    for (const arrival of arriving) if (!largest || arrival.size_bytes > largest.size_bytes) largest = arrival
    largest?.end(new ApiError('000002'))
  }

  return {
    read: (request) =>
      new Promise((resolve, reject) => {
        const chunks: Buffer[] = []
        const arrival: Arrival = { size_bytes: 0, end: (outcome) => leave(() => resolve(outcome)) }

        function leave(settle: () => void): void {
          if (!arriving.delete(arrival)) return
          held_bytes -= arrival.size_bytes
          request.off('data', take).off('end', finish).off('close', lose)
          settle()
        }
        function take(chunk: Buffer): void {
          arrival.size_bytes += chunk.length
          held_bytes += chunk.length
          chunks.push(chunk)
          if (arrival.size_bytes > BODY_SIZE_MAX_BYTES) arrival.end(new ApiError('000111'))
          else if (held_bytes > most_bytes) giveUpLargest()
        }
        function finish(): void {
          arrival.end(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
        }
        function lose(): void {
          leave(() => reject(new ApiError('000104')))
        }

        arriving.add(arrival)
        // What is too large by its own word need not be read. The rest of a refused body is left to Node, which reads it
        // to its end without keeping it: closing at once could cost the caller our answer.
        if (Number(request.headers['content-length'] ?? 0) > BODY_SIZE_MAX_BYTES) {
          return arrival.end(new ApiError('000111'))
        }
        request.on('data', take).once('end', finish).once('close', lose)
        request.on('error', () => {}) // 'close' follows
      }),
  }
}
