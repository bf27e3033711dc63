import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { describe, expect, it, vi } from 'vitest'
import { REQUESTS_MAX } from './request-limit.ts'
import { createTurns } from './turns.ts'

const createDeps = (inProgress = 0) => ({
  clock: systemClock,
  requests: { inProgress: () => inProgress },
  countRefused() {},
})

describe('turns', () => {
  it('are granted one per event loop iteration, tenant by tenant, until all are granted', async () => {
    const turns = createTurns(createDeps())
    const order: string[] = []
    const started = ['a', 'a', 'a', 'b', 'c'].map(async (tenantId) => {
      await turns.take(tenantId)
      order.push(tenantId)
    })
    await Promise.resolve()
    expect(order).toEqual(['a'])
    await Promise.all(started)
    expect(order).toEqual(['a', 'a', 'b', 'c', 'a'])
    await turn()
    expect(turns.take('a')).toBeUndefined()
  })

  it('are refused to a tenant that uses half of the allowed requests, but not to other tenants', () => {
    let refused = 0
    const turns = createTurns({ ...createDeps(), countRefused: () => void refused++ })
    for (let at = 0; at < 1 + REQUESTS_MAX / 2; at++) void turns.take('a')
    expect(() => turns.take('a')).toThrow(new ApiError('000002'))
    expect(turns.take('b')).toBeInstanceOf(Promise)
    expect(refused).toBe(1)
  })

  it('are given first to work that has already begun', async () => {
    const turns = createTurns(createDeps())
    const order: string[] = []
    const build = async (page: string) => {
      for (let part = 0; part < 3; part++) {
        await turns.take('a', part > 0)
        order.push(page)
      }
    }
    await Promise.all(['1', '2', '3'].map(build))
    expect(order.join('')).toBe('111222333')
  })

  it('pause for other requests in progress, but not until all of those have ended', async () => {
    const turns = createTurns(createDeps(100))
    const startedAt = performance.now()
    for (let part = 0; part < 5; part++) await Promise.all([turns.take('a'), turns.take('b')])
    expect(performance.now() - startedAt).toBeGreaterThan(5 * 3)
  })

  it('are given to a tenant 400 times without a pause, then once in 20 ms, while another tenant does not wait', async () => {
    let now = 0
    const turns = createTurns({ ...createDeps(), clock: { monotonic: () => now } })
    for (let part = 0; part < 400; part++) await turns.take('a')
    let granted = 0
    const going = (async () => {
      for (; granted < 5; granted++) await turns.take('a')
    })()
    await turn()
    expect(granted).toBe(0)
    await turns.take('b')
    expect(granted).toBe(0)
    for (let parts = 1; parts <= 5; parts++) {
      now += 20
      await vi.waitFor(() => expect(granted).toBe(parts), 20_000)
    }
    await going
  })
})
