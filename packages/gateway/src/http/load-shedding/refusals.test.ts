import { beforeEach, expect, it, vi } from 'vitest'
import { createRefusals, OF_REQUESTS } from './refusals.ts'

const SAVED_MAX = OF_REQUESTS.saved
const clock = { timeMs: 0, monotonic: () => clock.timeMs }
beforeEach(() => {
  clock.timeMs = 0
})

it('a few refusals are written immediately, and further ones in order at a limited rate', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  const written: number[] = []
  for (let number = 0; number < SAVED_MAX + 100; number++) refusals.pace(() => void written.push(number))
  expect(written).toHaveLength(SAVED_MAX)
  clock.timeMs += 100
  await vi.waitFor(() => expect(written).toHaveLength(SAVED_MAX + 50), 20_000)
  clock.timeMs += 100
  await vi.waitFor(() => expect(written).toHaveLength(SAVED_MAX + 100), 20_000)
  expect(written).toEqual(written.map((_, index) => index))
})

it('a new refusal does not overtake refusals that are waiting', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  const written: string[] = []
  for (let number = 0; number < SAVED_MAX; number++) refusals.pace(() => {})
  refusals.pace(() => void written.push('first'))
  clock.timeMs += 60_000 // enough to save up all of them again
  refusals.pace(() => void written.push('second'))
  expect(written).toEqual([])
  await vi.waitFor(() => expect(written).toEqual(['first', 'second']), 20_000)
})

it('refusals for callers that never wait are limited to five hundred a second', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  let written = 0
  let isOver = false
  const callAgain = () => {
    written++
    if (!isOver) refusals.pace(callAgain)
  }
  for (let caller = 0; caller < 64; caller++) refusals.pace(callAgain)
  expect(written).toBe(SAVED_MAX)
  for (let tenths = 1; tenths <= 10; tenths++) {
    clock.timeMs += 100
    await vi.waitFor(() => expect(written).toBe(SAVED_MAX + 50 * tenths), 20_000)
  }
  isOver = true
  clock.timeMs += 1_000
})

it('refusals are sent at a higher rate when thousands are waiting', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  let written = 0
  for (let caller = 0; caller < SAVED_MAX + 2_000; caller++) refusals.pace(() => void written++)
  clock.timeMs += 100
  await vi.waitFor(() => expect(written).toBe(SAVED_MAX + 200), 20_000)
})
