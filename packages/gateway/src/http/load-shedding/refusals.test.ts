import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { expect, it, vi } from 'vitest'
import { createRefusals, OF_REQUESTS } from './refusals.ts'

const SAVED_MAX = OF_REQUESTS.saved

it('are written immediately while they are few, and then in order, a few at a time', async () => {
  const refusals = createRefusals(systemClock, OF_REQUESTS)
  const written: number[] = []
  for (let number = 0; number < SAVED_MAX + 100; number++) refusals.pace(() => void written.push(number))
  expect(written).toHaveLength(SAVED_MAX)
  await vi.waitFor(() => expect(written.length).toBeGreaterThan(SAVED_MAX))
  expect(written.length).toBeLessThan(SAVED_MAX + 100)
  await vi.waitFor(() => expect(written).toHaveLength(SAVED_MAX + 100))
  expect(written).toEqual(written.map((_, index) => index))
})

it('that come while others wait do not overtake them', async () => {
  const now = { ms: 0 }
  const refusals = createRefusals({ monotonic: () => now.ms }, OF_REQUESTS)
  const written: string[] = []
  for (let number = 0; number < SAVED_MAX; number++) refusals.pace(() => {})
  refusals.pace(() => void written.push('first'))
  now.ms += 60_000 // enough to save all of them again
  refusals.pace(() => void written.push('second'))
  expect(written).toEqual([])
  await vi.waitFor(() => expect(written).toEqual(['first', 'second']))
})

it('of callers that never wait are five hundred a second', async () => {
  const refusals = createRefusals(systemClock, OF_REQUESTS)
  let written = 0
  let isOver = false
  const callAgain = () => {
    written++
    if (!isOver) refusals.pace(callAgain)
  }
  const startedAt = performance.now()
  for (let caller = 0; caller < 64; caller++) refusals.pace(callAgain)
  await delay(500)
  isOver = true
  const seconds = (performance.now() - startedAt) / 1000
  expect(written).toBeLessThan(SAVED_MAX + 64 + OF_REQUESTS.perSecond * seconds)
  expect(written).toBeGreaterThan(SAVED_MAX)
})

it('are more when thousands wait, so that none waits long', async () => {
  const refusals = createRefusals(systemClock, { perSecond: 10, saved: 1, waitMaxMs: 200 })
  let written = 0
  for (let caller = 0; caller < 1_000; caller++) refusals.pace(() => void written++)
  // At ten a second they would take more than a minute and a half.
  await vi.waitFor(() => expect(written).toBe(1_000), { timeout: 20_000 })
})
