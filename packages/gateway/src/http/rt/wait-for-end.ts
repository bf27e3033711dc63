import type { ServerResponse } from 'node:http'
import type { Awaited, EndWatch } from '#orders/end-watch.ts'
import { toApiError, untilCallerLeaves } from '../answer.ts'
import type { Ended } from './rt-call.ts'
import { RtFailure } from './rt-failure.ts'

/** Programs wait for an answer about this long before repeating the request. */
const WAIT_MS = 10_000

/**
 * Waits until an order or action has ended. Stops if the caller goes away.
 * @throws RtFailure 900001 if it is still open, or the database is unavailable
 */
export async function waitForEnd(ends: EndWatch, response: ServerResponse, awaited: Awaited): Promise<Ended> {
  const waiting = untilCallerLeaves(response, (signal) => ends.wait(awaited, WAIT_MS, signal))
  const status = await inProgressIfUnavailable(waiting)
  switch (status) {
    case undefined:
    case null:
    case 'PAID':
    case 'ALLOCATING':
    case 'PENDING':
    case 'UNDER_REVIEW':
      throw inProgress()
    default:
      return status
  }
}

/**
 * Awaits work that follows once an order or action has begun: its failure must not be answered as if nothing had been
 * changed.
 * @throws RtFailure 900001 instead of 000002
 */
export async function inProgressIfUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw toApiError(error).code === '000002' ? inProgress(error) : error
  }
}

function inProgress(cause?: unknown): RtFailure {
  return new RtFailure('900001', 'The request is still in progress. Repeat it: it will not be carried out twice.', {
    cause,
  })
}
