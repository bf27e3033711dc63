import { ApiError } from '../../lib/api-error.ts'

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
