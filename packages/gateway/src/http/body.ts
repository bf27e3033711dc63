import type { IncomingMessage } from 'node:http'
import { BODY_SIZE_MAX_BYTES } from '@dealer-esim/contract'
import { ApiError } from '../lib/api-error.ts'

/** Reads the bodies of requests, those of all callers within one budget of memory. */
export interface BodyReader {
  /**
   * Hands on the bytes as they came, or what to answer instead: 000111 for more than a body may have, 000002 when too
   * much is arriving at once, 000104 when the caller went away.
   */
  read(request: IncomingMessage, done: (body: Buffer | ApiError) => void): void
}

interface Arrival {
  sizeBytes: number
  end(outcome: Buffer | ApiError): void
}

/**
 * What arrives slowly or is large must not crowd out the others: beyond the budget, it is the largest of the unfinished
 * bodies that is given up, whoever came last.
 * @param mostBytes of bodies that have not arrived whole, of all callers
 */
export function bodyReader(mostBytes: number): BodyReader {
  const arriving = new Set<Arrival>()
  let heldBytes = 0

  function giveUpLargest(): void {
    let largest: Arrival | undefined
    for (const arrival of arriving) if (!largest || arrival.sizeBytes > largest.sizeBytes) largest = arrival
    largest?.end(new ApiError('000002'))
  }

  return {
    read(request, done) {
      const announcedBytes = Number(request.headers['content-length'] ?? Number.NaN)
      const chunks: Buffer[] = []
      let isOver = false
      const arrival: Arrival = { sizeBytes: 0, end }

      function end(outcome: Buffer | ApiError): void {
        if (isOver) return
        isOver = true
        if (arriving.delete(arrival)) heldBytes -= arrival.sizeBytes
        done(outcome)
      }
      function take(chunk: Buffer): void {
        if (chunk.length === announcedBytes) end(chunk) // whole, in one piece: nearly every body
        if (isOver) return
        arriving.add(arrival)
        arrival.sizeBytes += chunk.length
        heldBytes += chunk.length
        chunks.push(chunk)
        if (arrival.sizeBytes > BODY_SIZE_MAX_BYTES) end(new ApiError('000111'))
        else if (heldBytes > mostBytes) giveUpLargest()
      }

      // What is too large by its own word need not be read. The rest of a refused body is left to Node, which reads it
      // to its end without keeping it: closing at once could cost the caller our answer.
      if (announcedBytes > BODY_SIZE_MAX_BYTES) return end(new ApiError('000111'))
      request.on('data', take)
      request.on('end', () => {
        if (!isOver) end(Buffer.concat(chunks))
      })
      request.on('close', () => {
        if (!isOver) end(new ApiError('000104'))
      })
    },
  }
}
