import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { batcher } from './batch.ts'
import { systemClock } from './clock.ts'

/** A batcher whose batches end when the test says so, and what it has begun. */
function stage(patience_ms?: number) {
  const begun: { items: string[]; end(): void }[] = []
  const watchers: (() => void)[] = []
  const batches = batcher<string, string>({
    most: 10,
    lanes: 2,
    mostWaiting: 10,
    full: () => new Error('full'),
    ...(patience_ms !== undefined && { patience: { ms: patience_ms, clock: systemClock } }),
    run: (items) =>
      new Promise((resolve) => {
        begun.push({ items, end: () => resolve(items.map((item) => `${item} done`)) })
        for (const tell of watchers.splice(0)) tell()
      }),
  })
  const another = () => new Promise<void>((resolve) => watchers.push(resolve))
  return { batches, begun, another }
}

const FOR_EVER_MS = 600_000

describe('what comes while a batch runs', () => {
  it('goes in a second batch at once where there is no patience', async () => {
    const { batches, begun } = stage()
    void batches.add('a')
    await turn()
    void batches.add('b')
    await turn()
    expect(begun.map(({ items }) => items)).toEqual([['a'], ['b']])
  })

  it('gathers until the first has ended', async () => {
    const { batches, begun, another } = stage(FOR_EVER_MS)
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
    const { batches, begun, another } = stage(5)
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
