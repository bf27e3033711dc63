import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '@dealer-esim/lib/api-error.ts'

/** Memory that several holders share. If the budget is exceeded, the largest holder loses its memory. */
export interface ByteBudget<Holder> {
  hold(holder: Holder, bytes: number): void
  /** Releases all bytes of the holder unless `bytes` is given. Does nothing for a holder that has lost its memory. */
  release(holder: Holder, bytes?: number): void
}

/** @param dropLargest frees the holder's memory; called after the holder has lost its share */
export function createByteBudget<Holder>(maxBytes: number, dropLargest: (holder: Holder) => void): ByteBudget<Holder> {
  const held = new Map<Holder, number>()
  let heldBytes = 0

  function release(holder: Holder, bytes?: number): void {
    const own = held.get(holder)
    if (own === undefined) return
    const released = bytes ?? own
    heldBytes -= released
    if (released === own) held.delete(holder)
    else held.set(holder, own - released)
  }

  function largestHolder(): Holder {
    let [largest, most] = held.entries().next().value!
    for (const [holder, bytes] of held) if (bytes > most) [largest, most] = [holder, bytes]
    return largest
  }

  return {
    hold(holder, bytes) {
      held.set(holder, (held.get(holder) ?? 0) + bytes)
      heldBytes += bytes
      while (heldBytes > maxBytes && held.size > 0) {
        const largest = largestHolder()
        release(largest)
        dropLargest(largest)
      }
    },
    release,
  }
}

/** A body that is arriving. */
export interface BodyHolder {
  giveUp(error: ApiError): void
}

/** Keeps slow or large bodies from using up the memory of others: the largest unfinished body is refused with 000002. */
export function createBodyBudget(maxBytes: number): ByteBudget<BodyHolder> {
  return createByteBudget(maxBytes, (body) => body.giveUp(new ApiError('000002')))
}

export interface UnreadAnswers {
  /** Called for each answer after it was handed to the connection. */
  watch(response: ServerResponse, sizeBytes: number, tenantId: string | undefined): void
}

/** A page of the catalogue takes half a MiB, so this holds one page for each of more than a hundred slow readers. */
const UNREAD_MAX_BYTES = 64 * 1024 * 1024
/** More than a dealer requests before reading the answers: about sixteen pages on one connection, thirty-two on all. */
const UNREAD_OF_CONNECTION_MAX_BYTES = 8 * 1024 * 1024
const UNREAD_OF_TENANT_MAX_BYTES = 16 * 1024 * 1024

/**
 * Limits the answers that callers do not read, which stay in our memory. Beyond a budget the connection that holds most is
 * closed: a slow reader has one answer in progress, whereas an attacker has many.
 */
export function createUnreadAnswers(): UnreadAnswers {
  const createBudget = (maxBytes: number) => createByteBudget<Socket>(maxBytes, (socket) => socket.destroy())
  const all = createBudget(UNREAD_MAX_BYTES)
  const ofTenant = new Map<string, ByteBudget<Socket>>()
  const ofConnection = new WeakMap<Socket, ByteBudget<Socket>[]>()

  function budgetsOf(socket: Socket, tenantId: string): ByteBudget<Socket>[] {
    const known = ofConnection.get(socket)
    if (known) return known
    const own = ofTenant.get(tenantId) ?? createBudget(UNREAD_OF_TENANT_MAX_BYTES)
    ofTenant.set(tenantId, own)
    const budgets = [createBudget(UNREAD_OF_CONNECTION_MAX_BYTES), own, all]
    ofConnection.set(socket, budgets)
    socket.once('close', () => {
      for (const budget of budgets) budget.release(socket)
    })
    return budgets
  }

  return {
    watch(response, sizeBytes, tenantId = '') {
      if (response.writableLength === 0) return // nearly always: the operating system accepted it immediately
      const { socket } = response.req
      if (socket.destroyed) return
      // A connection counts towards the tenant of its first unread answer: nearly all connections have one tenant.
      const budgets = budgetsOf(socket, tenantId)
      response.once('finish', () => {
        for (const budget of budgets) budget.release(socket, sizeBytes)
      })
      for (const budget of budgets) budget.hold(socket, sizeBytes)
    },
  }
}
