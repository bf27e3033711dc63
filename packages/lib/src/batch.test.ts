import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createBatcher, type Pace } from './batch.ts'
import { systemClock } from './clock.ts'

/** A batcher whose batches end when the test ends them, and the batches begun so far. */
function stage(pace?: Partial<Pace>) {
  const begun: { items: string[]; end(): void }[] = []
  const watchers: (() => void)[] = []
  const batches = createBatcher<string, string>({
    limit: 10,
    concurrency: 2,
    queueLimit: 20,
    queueFullError: () => new Error('full'),
    ...(pace && { pace: { clock: systemClock, overlapAfterMs: FOR_EVER_MS, gatherMs: 0, ...pace } }),
    run: (items) =>
      new Promise((resolve) => {
        begun.push({ items, end: () => resolve(items.map((item) => `${item} done`)) })
        for (const notifyWatcher of watchers.splice(0)) notifyWatcher()
      }),
  })
  const another = () => new Promise<void>((resolve) => watchers.push(resolve))
  return { batches, begun, another }
}

const FOR_EVER_MS = 600_000

describe('an item that arrives while a batch runs', () => {
  it('starts a second batch immediately if no pace is set', async () => {
    const { batches, begun } = stage()
    void batches.add('a')
    await turn()
    void batches.add('b')
    await turn()
    expect(begun.map(({ items }) => items)).toEqual([['a'], ['b']])
  })

  it('waits with later items until the first batch has ended', async () => {
    const { batches, begun, another } = stage({})
    const first = batches.add('a')
    await turn()
    const second = batches.add('b')
    await turn()
    const third = batches.add('c')
    await turn()
    expect(begun).toHaveLength(1)
    const begins = another()
    begun[0]!.end()
    await begins
    expect(begun[1]!.items).toEqual(['b', 'c'])
    begun[1]!.end()
    expect(await Promise.all([first, second, third])).toEqual(['a done', 'b done', 'c done'])
  })

  it('does not wait for a first batch that is stuck', async () => {
    const { batches, begun, another } = stage({ overlapAfterMs: 5 })
    void batches.add('a')
    await turn()
    const begins = another()
    const answered = batches.add('b')
    await begins
    expect(begun[1]!.items).toEqual(['b'])
    begun[1]!.end()
    expect(await answered).toBe('b done')
  })
})

describe('a delayed batch', () => {
  it('begins sooner if another reason to wait ends first', async () => {
    const { batches, begun, another } = stage({ gatherMs: 5 })
    const crowd = Array.from({ length: 10 }, (_, index) => batches.add(`crowd ${index}`))
    await turn()
    void batches.add('a') // is to begin when overlapAfterMs has passed
    await turn()
    const begins = another()
    begun[0]!.end()
    await Promise.all(crowd)
    await begins
    expect(begun[1]!.items).toEqual(['a'])
  })
})

describe('a batch after a burst', () => {
  /** A batcher whose last batch held ten. */
  async function afterCrowd(clock: Pace['clock'] = systemClock, pace: Partial<Pace> = {}) {
    const at = stage({ clock, gatherMs: FOR_EVER_MS, ...pace })
    const crowd = Array.from({ length: 10 }, (_, index) => at.batches.add(`crowd ${index}`))
    await turn()
    at.begun.shift()!.end()
    await Promise.all(crowd)
    return at
  }

  it('begins when half as many items have arrived', async () => {
    const { batches, begun } = await afterCrowd()
    for (const item of ['a', 'b', 'c', 'd']) void batches.add(item)
    await turn()
    expect(begun).toEqual([])
    void batches.add('e')
    await turn()
    expect(begun[0]!.items).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('begins after some time, however few items have arrived', async () => {
    const { batches, begun, another } = await afterCrowd(systemClock, { gatherMs: 5 })
    const begins = another()
    void batches.add('a')
    await begins
    expect(begun[0]!.items).toEqual(['a'])
  })

  it('begins immediately if the burst ended long ago', async () => {
    let nowMs = 0
    const { batches, begun } = await afterCrowd({ monotonic: () => nowMs })
    nowMs = FOR_EVER_MS
    void batches.add('a')
    await turn()
    expect(begun[0]!.items).toEqual(['a'])
  })

  it('is split in half if the whole burst comes back, and the halves run one after the other', async () => {
    const { batches, begun, another } = await afterCrowd(systemClock, { splitsBursts: true })
    const add = (count: number) => {
      for (let index = 0; index < count; index++) void batches.add(`again ${index}`)
    }
    add(16)
    await turn()
    expect(begun[0]!.items).toHaveLength(8)
    add(1)
    const begins = another()
    begun[0]!.end()
    await begins
    expect(begun[1]!.items).toHaveLength(9)
  })

  it('is not split if half of it is smaller than a burst', async () => {
    const { batches, begun } = await afterCrowd(systemClock, { splitsBursts: true })
    for (let index = 0; index < 9; index++) void batches.add(`again ${index}`)
    await turn()
    expect(begun[0]!.items).toHaveLength(9)
  })

  it('is not split if the burst ended long ago', async () => {
    let nowMs = 0
    const { batches, begun } = await afterCrowd({ monotonic: () => nowMs }, { splitsBursts: true })
    nowMs = FOR_EVER_MS + 1
    for (let index = 0; index < 16; index++) void batches.add(`other ${index}`)
    await turn()
    expect(begun[0]!.items).toHaveLength(10)
  })
})
