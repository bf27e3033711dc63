import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { REQUESTS_MAX } from './request-limit.ts'

/** Starts parts of long work one in a turn of the event loop, so that other dealers' requests are served in between. */
export interface Turns {
  /** @returns undefined if it may start now. @throws ApiError 000002 if too much work of this tenant is waiting */
  take(tenantId: string): Promise<void> | undefined
}

/** Half of the requests that may be in progress, so that one tenant leaves room for the others. */
const WAITING_OF_TENANT_MAX = REQUESTS_MAX / 2

export function createTurns(countRefused: () => void): Turns {
  /** In the order in which the tenants' turns come. */
  const waiting = new Map<string, (() => void)[]>()
  let isTaken = false

  function takeNow(): void {
    isTaken = true
    setImmediate(nextTurn)
  }

  function nextTurn(): void {
    isTaken = false
    const [next] = waiting
    if (next === undefined) return
    const [tenantId, own] = next
    const start = own.shift()!
    waiting.delete(tenantId)
    if (own.length > 0) waiting.set(tenantId, own) // moved to the end
    takeNow()
    start()
  }

  return {
    take(tenantId) {
      if (!isTaken && waiting.size === 0) {
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
