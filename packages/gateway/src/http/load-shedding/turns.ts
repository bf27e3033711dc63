import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { REQUESTS_MAX } from './request-limit.ts'

/** Starts work that takes milliseconds a little at a time, so that other dealers' requests are served in between. */
export interface Turns {
  /** @returns undefined if it may start now. @throws ApiError 000002 if too much work of this tenant is waiting */
  take(tenantId: string): Promise<void> | undefined
}

/** A page of the catalogue takes up to a few milliseconds. */
const TAKEN_PER_TURN = 4
/** Half of the requests that may be in progress, so that one tenant leaves room for the others. */
const WAITING_OF_TENANT_MAX = REQUESTS_MAX / 2

export function createTurns(countRefused: () => void): Turns {
  /** In the order in which the tenants' turns come. */
  const waiting = new Map<string, (() => void)[]>()
  let takenInTurn = 0

  function takeNow(): void {
    if (takenInTurn++ === 0) setImmediate(nextTurn)
  }

  function nextTurn(): void {
    takenInTurn = 0
    for (const [tenantId, own] of waiting) {
      if (takenInTurn === TAKEN_PER_TURN) return
      const start = own.shift()!
      waiting.delete(tenantId)
      if (own.length > 0) waiting.set(tenantId, own) // moved to the end, where this loop reaches it again
      takeNow()
      start()
    }
  }

  return {
    take(tenantId) {
      if (takenInTurn < TAKEN_PER_TURN && waiting.size === 0) {
        takeNow()
        return undefined
      }
      const own = waiting.get(tenantId) ?? []
      if (own.length >= WAITING_OF_TENANT_MAX) {
        countRefused()
        throw new ApiError('000002')
      }
      waiting.set(tenantId, own)
      return new Promise((resolve) => own.push(resolve))
    },
  }
}
