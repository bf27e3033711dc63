import type { IncomingMessage } from 'node:http'
import { BODY_SIZE_MAX_BYTES } from '@dealer-esim/contract'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { BodyHolder, ByteBudget } from './load-shedding/byte-budget.ts'

/**
 * Reads the body of a request, within the budget that all requests share.
 * @returns the bytes as received, or the error to answer instead: 000111 for a body that is too large, 000002 if too
 * much is
 *   arriving together, 000104 if the caller went away
 */
export function readBody(
  request: IncomingMessage,
  budget: ByteBudget<BodyHolder>,
  maxBytes = BODY_SIZE_MAX_BYTES,
): Promise<Buffer | ApiError> {
  return new Promise((resolve) => {
    const announcedBytes = Number(request.headers['content-length'] ?? Number.NaN)
    const chunks: Buffer[] = []
    const holder: BodyHolder = { giveUp: end }
    let sizeBytes = 0
    let isOver = false

    function end(outcome: Buffer | ApiError): void {
      if (isOver) return
      isOver = true
      budget.release(holder)
      resolve(outcome)
    }

    function take(chunk: Buffer): void {
      if (chunk.length === announcedBytes) end(chunk) // nearly every body arrives in one piece
      if (isOver) return
      chunks.push(chunk)
      sizeBytes += chunk.length
      if (sizeBytes > maxBytes) end(new ApiError('000111'))
      else budget.hold(holder, chunk.length)
    }

    // A body whose Content-Length is too large is not kept. Node reads the rest of a refused body to its end: closing the
    // connection immediately could cost the caller our answer.
    if (announcedBytes > maxBytes) {
      end(new ApiError('000111'))
      return
    }
    request.on('data', take)
    request.on('end', () => {
      if (!isOver) end(Buffer.concat(chunks))
    })
    request.on('close', () => {
      if (!isOver) end(new ApiError('000104'))
    })
  })
}
