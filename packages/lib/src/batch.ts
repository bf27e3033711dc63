import type { Clock } from './clock.ts'

/** Collects concurrent calls into batches. A lone call never waits: batches form while another batch runs. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>
}

export interface BatchOptions<Item, Result> {
  /** Returns one result per item, in order. A rejection fails every item of the batch. */
  run(items: Item[]): Promise<Result[]>
  /** Maximum number of items in a batch. */
  limit: number
  /** Maximum number of batches that run at the same time. */
  concurrency: number
  /** Delays batches so that they grow. Without a pace, a batch starts whenever `concurrency` allows. */
  pace?: Pace
  /** Maximum number of waiting items; the next is rejected with `queueFullError()`. Bounds memory under overload. */
  queueLimit: number
  queueFullError(): Error
  /** Items with the same key never run in two batches at the same time. */
  key?(item: Item): string
  /** True if items with the same key may be in one batch. */
  keysShareBatch?: boolean
}

export interface Pace {
  clock: Pick<Clock, 'monotonic'>
  /**
   * How long a batch may run before another starts alongside it. Two half batches cost more than a whole one, but a stuck
   * batch must not block the others.
   */
  overlapAfterMs: number
  /**
   * How long the next batch collects after a burst, unless half as many items arrive sooner. Started immediately, it would take
   * the first one or two items and make the rest of the burst wait. An item added to an idle batcher never waits.
   */
  gatherMs: number
  /**
   * True if a burst whose items were answered together, and so come back together, is split into two halves: one half is
   * served while the other travels to its callers and back. As one batch, callers and server would take turns being idle.
   */
  splitsBursts?: boolean
}

/** A batch of this size is a burst. */
const BURST_SIZE = 8

interface Waiting<Item, Result> {
  item: Item
  /** undefined if the batcher has no keys. */
  key: string | undefined
  resolve(result: Result): void
  reject(error: unknown): void
}

export function createBatcher<Item, Result>(options: BatchOptions<Item, Result>): Batcher<Item, Result> {
  let queue: Waiting<Item, Result>[] = []
  let running = 0
  let startedAt = 0
  let endedAt = 0
  let lastSize = 0
  let scheduled = false
  const scheduleStart = createEarliestTimer(nowMs, () => startBatches())
  const busyKeys = new Set<string>()

  function takeBatch(limit: number): Waiting<Item, Result>[] {
    if (options.key === undefined) return queue.splice(0, limit)
    const batch: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const own = options.keysShareBatch ? new Set<string>() : undefined
    for (const waiting of queue) {
      const key = waiting.key as string
      const isFree = !busyKeys.has(key) || own?.has(key)
      if (isFree && batch.length < limit) {
        busyKeys.add(key)
        own?.add(key)
        batch.push(waiting)
      } else left.push(waiting)
    }
    queue = left
    return batch
  }

  function startBatches({ hasJustEnded = false } = {}): void {
    const { pace } = options
    scheduled = false
    while (running < options.concurrency && queue.length > 0) {
      const waitMs = pace ? waitLeftMs(pace) : 0
      if (waitMs > 0) {
        scheduleStart(waitMs)
        return
      }
      const batch = takeBatch(pace && running === 0 && !hasJustEnded ? limitOfReturnedBurst(pace) : options.limit)
      if (batch.length === 0) return // every waiting item has its key in flight
      running++
      startedAt = nowMs()
      void runBatch(batch)
    }
  }

  function waitLeftMs({ overlapAfterMs, gatherMs }: Pace): number {
    if (running > 0) return startedAt + overlapAfterMs - nowMs()
    return lastSize >= BURST_SIZE && queue.length < lastSize / 2 ? endedAt + gatherMs - nowMs() : 0
  }

  /**
   * The batch limit when nothing runs. Each half of a split burst is itself a burst, so that the second half follows immediately.
   */
  function limitOfReturnedBurst({ splitsBursts = false, overlapAfterMs }: Pace): number {
    const hasReturned = lastSize >= BURST_SIZE && queue.length >= lastSize / 2 && nowMs() < endedAt + overlapAfterMs
    return splitsBursts && hasReturned && queue.length >= BURST_SIZE * 2
      ? Math.min(options.limit, Math.ceil(queue.length / 2))
      : options.limit
  }

  function nowMs(): number {
    return options.pace?.clock.monotonic() ?? 0
  }

  async function runBatch(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await options.run(batch.map((waiting) => waiting.item))
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result)
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    } finally {
      running--
      endedAt = nowMs()
      lastSize = batch.length
      for (const { key } of batch) if (key !== undefined) busyKeys.delete(key)
      startBatches({ hasJustEnded: true })
    }
  }

  return {
    add(item) {
      if (queue.length >= options.queueLimit) return Promise.reject(options.queueFullError())
      return new Promise((resolve, reject) => {
        queue.push({ item, key: options.key?.(item), resolve, reject })
        // Items from the same turn of the event loop share a batch; no item waits longer than that.
        if (!scheduled && running < options.concurrency) {
          scheduled = true
          setImmediate(startBatches)
        }
      })
    },
  }
}

/** Calls `go` once, at the earliest of the requested times. */
function createEarliestTimer(nowMs: () => number, go: () => void): (waitMs: number) => void {
  let timer: NodeJS.Timeout | undefined
  let dueAt = 0
  return (waitMs) => {
    const at = nowMs() + waitMs
    if (timer && dueAt <= at) return
    clearTimeout(timer)
    dueAt = at
    timer = setTimeout(() => {
      timer = undefined
      go()
    }, waitMs)
  }
}

/** Groups items by key, in the order in which the keys first appear. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
