import { type OperationName, operationNames } from '@dealer-esim/contract'

/** A request that was sent, without its signature and without its answer, which may contain activation codes. */
export interface PastRequest {
  time: string
  tenantId: string
  operation: OperationName
  body: string
  /** The HTTP status; null if there was no answer. */
  status: number | null
}

const REQUESTS_MAX = 20
const BODY_LENGTH_MAX = 4_000

/** One person's history in this browser, newest first. */
export interface RequestHistory {
  list(): PastRequest[]
  add(request: PastRequest): PastRequest[]
  clear(): void
}

export function requestHistory(personId: string, storage: Storage = localStorage): RequestHistory {
  const key = `explorer-history:${personId}`
  function list(): PastRequest[] {
    try {
      const stored: unknown = JSON.parse(storage.getItem(key) ?? '[]')
      return Array.isArray(stored) ? stored.filter(isPastRequest) : []
    } catch {
      return []
    }
  }
  return {
    list,
    add(request) {
      const isSame = (other: PastRequest) =>
        other.tenantId === request.tenantId && other.operation === request.operation && other.body === request.body
      const others = list().filter((other) => !isSame(other))
      if (request.body.length > BODY_LENGTH_MAX) return others
      const requests = [request, ...others].slice(0, REQUESTS_MAX)
      try {
        storage.setItem(key, JSON.stringify(requests))
      } catch {
        // Storage is full or turned off: the history ends with the page.
      }
      return requests
    },
    clear: () => storage.removeItem(key),
  }
}

function isPastRequest(value: unknown): value is PastRequest {
  const { time, tenantId, operation, body, status } = (value ?? {}) as Partial<Record<keyof PastRequest, unknown>>
  return (
    [time, tenantId, body].every((text) => typeof text === 'string') &&
    operationNames.includes(operation as OperationName) &&
    (status === null || typeof status === 'number')
  )
}
