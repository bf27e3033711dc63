import type { Clock } from './clock.ts'

/** What gathers concurrent calls into batches. A lone call never waits for company: batches form while one runs. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>
}

export interface BatchOptions<Item, Result> {
  /** Answers each item, in order; a rejection fails the whole batch alike. */
  run(items: Item[]): Promise<Result[]>
  /** Items a batch holds at most. */
  limit: number
  /** Batches under way at once. */
  concurrency: number
  /** When a batch begins although more could come; without it, whenever a lane is free. */
  pace?: Pace
  /** Items that may wait; one more is refused by `full()`. Bounds memory under overload. */
  queueLimit: number
  queueFullError(): Error
  /** Items with one key never run in two batches at once. */
  key?(item: Item): string
  /** Whether they may share one. */
  keysShareBatch?: boolean
}

export interface Pace {
  clock: Pick<Clock, 'monotonic'>
  /**
   * How long the batches under way may take before another one begins beside them: two halves cost more than a whole, and
   * a lane that is stuck must not stop the others.
   */
  overlapAfterMs: number
  /**
   * How long the next batch gathers after a crowd, unless half as many are there before: begun at once, it would take the
   * first one or two and keep the crowd behind them waiting. What comes to a quiet batcher never waits.
   */
  gatherMs: number
  /**
   * Whether a crowd that has just been answered and comes back together is taken in two halves, so that one is on its way
   * to its callers and back while the other is served; as one herd it keeps either side idle while the other works.
   */
  splitsBursts?: boolean
}

/** So many in one batch are a crowd. */
const BURST_SIZE = 8

interface Waiting<Item, Result> {
  item: Item
  /** undefined where the batcher has no keys. */
  key: string | undefined
  resolve(result: Result): void
  reject(error: unknown): void
}

export function createBatcher<Item, Result>(options: BatchOptions<Item, Result>): Batcher<Item, Result> {
  let queue: Waiting<Item, Result>[] = []
  let running = 0
  let begunAt = 0
  let endedAt = 0
  let lastSize = 0
  let scheduled = false
  const comeBackIn = createEarliestTimer(nowMs, () => startLanes())
  const busyKeys = new Set<string>()

  function take(most: number): Waiting<Item, Result>[] {
    if (options.key === undefined) return queue.splice(0, most)
    const batch: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const own = options.keysShareBatch ? new Set<string>() : undefined
    for (const waiting of queue) {
      const key = waiting.key as string
      const isFree = !busyKeys.has(key) || own?.has(key)
      if (isFree && batch.length < most) {
        busyKeys.add(key)
        own?.add(key)
        batch.push(waiting)
      } else left.push(waiting)
    }
    queue = left
    return batch
  }

  function startLanes({ hasJustEnded = false } = {}): void {
    const { pace } = options
    scheduled = false
    while (running < options.concurrency && queue.length > 0) {
      const waitMs = pace ? waitLeftMs(pace) : 0
      if (waitMs > 0) {
        comeBackIn(waitMs)
        return
      }
      const batch = take(pace && running === 0 && !hasJustEnded ? mostOfReturned(pace) : options.limit)
      if (batch.length === 0) return // all that wait have their key in flight
      running++
      begunAt = nowMs()
      void runBatch(batch)
    }
  }

  function waitLeftMs({ overlapAfterMs, gatherMs }: Pace): number {
    if (running > 0) return begunAt + overlapAfterMs - nowMs()
    return lastSize >= BURST_SIZE && queue.length < lastSize / 2 ? endedAt + gatherMs - nowMs() : 0
  }

  /** Of what waits while nothing runs. Either half of a crowd is one itself, so that the second follows at once. */
  function mostOfReturned({ splitsBursts = false, overlapAfterMs }: Pace): number {
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
      startLanes({ hasJustEnded: true })
    }
  }

  return {
    add(item) {
      if (queue.length >= options.queueLimit) return Promise.reject(options.queueFullError())
      return new Promise((resolve, reject) => {
        queue.push({ item, key: options.key?.(item), resolve, reject })
        // What the same turn of the event loop brings goes together; nothing waits longer than that.
        if (!scheduled && running < options.concurrency) {
          scheduled = true
          setImmediate(startLanes)
        }
      })
    },
  }
}

/** Calls `go` once, at the soonest of the moments that it was asked for until then. */
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

/** In the order in which the keys first appear. */
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
