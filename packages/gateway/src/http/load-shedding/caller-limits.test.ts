import { describe, expect, it } from 'vitest'
import { createCallerLimiter } from './caller-limits.ts'

const clock = { timeMs: 0, monotonic: () => clock.timeMs }

describe('the caller limit', () => {
  it('counts the requests in progress per caller and in total', async () => {
    const limiter = createCallerLimiter({ ofCaller: 2, ofNode: 3 }, clock)
    const [first] = [await limiter.begin('a'), await limiter.begin('a')]
    await expect(limiter.begin('a')).rejects.toMatchObject({ status: 429, data: { retryAfterS: 2 } })
    await limiter.begin('b')
    await expect(limiter.begin('c')).rejects.toMatchObject({ status: 503, data: { retryAfterS: 2 } })
    first()
    first()
    await limiter.begin('c')
    await expect(limiter.begin('a')).rejects.toMatchObject({ status: 503 })
  })

  it('queues a caller’s requests in order of arrival', async () => {
    const limiter = createCallerLimiter({ ofCaller: 1, ofNode: 10, waiting: 2 }, clock)
    const begun: string[] = []
    const end = await limiter.begin('a')
    const second = limiter.begin('a')
    const third = limiter.begin('a')
    void second.then(() => begun.push('second'))
    void third.then(() => begun.push('third'))
    await expect(limiter.begin('a')).rejects.toMatchObject({ status: 429 })
    await limiter.begin('b')
    expect(begun).toEqual([])
    end()
    const endSecond = await second
    expect(begun).toEqual(['second'])
    endSecond()
    const endThird = await third
    endThird()
    await limiter.begin('a')
    expect(begun).toEqual(['second', 'third'])
  })

  it('delays a caller that has used too much time until its share has made up for the excess', async () => {
    const limiter = createCallerLimiter({ ofCaller: 2, ofNode: 9, time: { savedMs: 100, share: 10 } }, clock)
    const use = async (caller: string, ms: number) => {
      const end = await limiter.begin(caller)
      clock.timeMs += ms
      end()
    }
    await use('a', 60_000) // counts as one second
    const begun: string[] = []
    const uses = ['a', 'b'].map((caller) => limiter.begin(caller).then(() => begun.push(caller)))
    await Promise.all(uses)
    expect(begun).toEqual(['b', 'a'])
  })

  it('allows a burst, then one request per interval, and does not count a refunded request', async () => {
    const limiter = createCallerLimiter({ ofCaller: 9, ofNode: 9, rate: { burst: 2, everyMs: 6_000 } }, clock)
    const use = async (caller: string) => (await limiter.begin(caller))()
    await use('a')
    await use('a')
    await expect(limiter.begin('a')).rejects.toMatchObject({ status: 429, data: { retryAfterS: 6 } })
    await use('b')
    clock.timeMs += 2_000
    await expect(limiter.begin('a')).rejects.toMatchObject({ data: { retryAfterS: 4 } })
    clock.timeMs += 4_000
    await use('a')
    limiter.refund('a')
    await use('a')
    await expect(limiter.begin('a')).rejects.toMatchObject({ status: 429 })
  })
})
