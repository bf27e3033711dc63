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
  size_bytes: number
  end(outcome: Buffer | ApiError): void
}

/**
 * What arrives slowly or is large must not crowd out the others: beyond the budget, it is the largest of the unfinished
 * bodies that is given up, whoever came last.
 * @param most_bytes of bodies that have not arrived whole, of all callers
 */
export function bodyReader(most_bytes: number): BodyReader {
  const arriving = new Set<Arrival>()
  let held_bytes = 0

  function giveUpLargest(): void {
    let largest: Arrival | undefined
    for (const arrival of arriving) if (!largest || arrival.size_bytes > largest.size_bytes) largest = arrival
    largest?.end(new ApiError('000002'))
  }

  return {
    read(request, done) {
      const announced_bytes = Number(request.headers['content-length'] ?? Number.NaN)
      const chunks: Buffer[] = []
      let isOver = false
      const arrival: Arrival = { size_bytes: 0, end }

      function end(outcome: Buffer | ApiError): void {
        if (isOver) return
        isOver = true
        if (arriving.delete(arrival)) held_bytes -= arrival.size_bytes
        done(outcome)
      }
      function take(chunk: Buffer): void {
        if (chunk.length === announced_bytes) end(chunk) // whole, in one piece: nearly every body
        if (isOver) return
        arriving.add(arrival)
        arrival.size_bytes += chunk.length
        held_bytes += chunk.length
        chunks.push(chunk)
        if (arrival.size_bytes > BODY_SIZE_MAX_BYTES) end(new ApiError('000111'))
        else if (held_bytes > most_bytes) giveUpLargest()
      }

      // What is too large by its own word need not be read. The rest of a refused body is left to Node, which reads it
      // to its end without keeping it: closing at once could cost the caller our answer.
      if (announced_bytes > BODY_SIZE_MAX_BYTES) return end(new ApiError('000111'))
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
