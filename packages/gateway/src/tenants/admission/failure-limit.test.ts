import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { describe, expect, it } from 'vitest'
import { createFailureLimit } from './failure-limit.ts'

const clock = { time: 0, now: () => 0, monotonic: () => clock.time }
const BURST = 30
const SECONDS_PER_FAILURE = 2

const failing = async () => {
  throw new ApiError('101003')
}

/** Returns the outcome of one attempt, as a code. */
async function codeOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => '000000',
    (error: ApiError) => error.code,
  )
}

async function exhausted(address: string) {
  const limit = createFailureLimit(clock)
  for (let i = 0; i < BURST; i++) expect(await codeOf(limit.attempt(address, failing))).toBe('101003')
  expect(await codeOf(limit.attempt(address, failing))).toBe('101007')
  return limit
}

describe('an address that has failed too often', () => {
  it('may try again after a wait, and more often after a longer wait', async () => {
    const limit = await exhausted('203.0.113.1')
    clock.time += SECONDS_PER_FAILURE * 1000 - 1
    const refusal = await limit.attempt('203.0.113.1', failing).catch((error: ApiError) => error)
    expect(refusal).toMatchObject({
      code: '101007',
      parts: { headers: { 'Retry-After': '1', 'RateLimit-Reset': '1' } },
    })
    clock.time += 3 * SECONDS_PER_FAILURE * 1000
    for (const code of ['101003', '101003', '101003', '101007']) {
      expect(await codeOf(limit.attempt('203.0.113.1', failing))).toBe(code)
    }
    clock.time += 24 * 3_600_000
    for (let i = 0; i < BURST; i++) expect(await codeOf(limit.attempt('203.0.113.1', failing))).toBe('101003')
    expect(await codeOf(limit.attempt('203.0.113.1', failing))).toBe('101007')
  })

  it('is informed how long to wait before the next attempt', async () => {
    const limit = await exhausted('203.0.113.1')
    const refusal = await limit.attempt('203.0.113.1', failing).catch((error: ApiError) => error)
    const headers = { 'Retry-After': '2', 'RateLimit-Limit': '30', 'RateLimit-Remaining': '0', 'RateLimit-Reset': '2' }
    expect(refusal).toMatchObject({ code: '101007', parts: { headers } })
  })

  it('is forgotten once twenty thousand others have failed since, which bounds the memory used', async () => {
    const limit = await exhausted('203.0.113.1')
    for (let i = 0; i < 19_999; i++) await codeOf(limit.attempt(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, failing))
    expect(await codeOf(limit.attempt('203.0.113.1', failing))).toBe('101007')
    for (let i = 0; i < 2; i++) await codeOf(limit.attempt(`11.0.0.${i}`, failing))
    expect(await codeOf(limit.attempt('203.0.113.1', failing))).toBe('101003')
  })
})

describe('simultaneous attempts', () => {
  it('are limited to the number that may fail, and a success lets the next attempt start', async () => {
    const limit = createFailureLimit(clock)
    const ends: (() => void)[] = []
    const succeeding = () => new Promise<void>((resolve) => ends.push(resolve))
    const attempts = Array.from({ length: 100 }, () => codeOf(limit.attempt('203.0.113.1', succeeding)))
    await settle()
    expect(ends).toHaveLength(BURST)
    for (let ended = 0; ended < 100; ended++) {
      ends[ended]!()
      await settle()
    }
    expect(new Set(await Promise.all(attempts))).toEqual(new Set(['000000']))
  })

  it('are refused while waiting, once the attempts before them have failed', async () => {
    const limit = createFailureLimit(clock)
    let begun = 0
    const codes = await Promise.all(
      Array.from({ length: 100 }, () =>
        codeOf(
          limit.attempt('203.0.113.1', async () => {
            begun++
            await settle()
            throw new ApiError('101004')
          }),
        ),
      ),
    )
    expect(begun).toBe(BURST)
    expect(codes.filter((code) => code === '101007')).toHaveLength(70)
  })

  it('count as failures only if their credentials were refused', async () => {
    const limit = createFailureLimit(clock)
    const refusals = ['101005', '101002', '000002'] as const
    for (let i = 0; i < 100; i++) {
      const refused = async () => {
        throw new ApiError(refusals[i % 3]!)
      }
      expect(await codeOf(limit.attempt('203.0.113.1', refused))).toBe(refusals[i % 3])
    }
  })
})

async function settle(): Promise<void> {
  await new Promise(setImmediate)
}
