import { beforeEach, expect, it, vi } from 'vitest'
import { createRefusals, OF_REQUESTS } from './refusals.ts'

const SAVED_MAX = OF_REQUESTS.saved
const clock = { timeMs: 0, monotonic: () => clock.timeMs }
beforeEach(() => {
  clock.timeMs = 0
})

it('are written immediately while they are few, and then in order, a few at a time', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  const written: number[] = []
  for (let number = 0; number < SAVED_MAX + 100; number++) refusals.pace(() => void written.push(number))
  expect(written).toHaveLength(SAVED_MAX)
  clock.timeMs += 100
  await vi.waitFor(() => expect(written).toHaveLength(SAVED_MAX + 50))
  clock.timeMs += 100
  await vi.waitFor(() => expect(written).toHaveLength(SAVED_MAX + 100))
  expect(written).toEqual(written.map((_, index) => index))
})

it('that come while others wait do not overtake them', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  const written: string[] = []
  for (let number = 0; number < SAVED_MAX; number++) refusals.pace(() => {})
  refusals.pace(() => void written.push('first'))
  clock.timeMs += 60_000 // enough to save all of them again
  refusals.pace(() => void written.push('second'))
  expect(written).toEqual([])
  await vi.waitFor(() => expect(written).toEqual(['first', 'second']))
})

it('of callers that never wait are five hundred a second', async () => {
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
    await vi.waitFor(() => expect(written).toBe(SAVED_MAX + 50 * tenths))
  }
  isOver = true
  clock.timeMs += 1_000
})

it('are more when thousands wait', async () => {
  const refusals = createRefusals(clock, OF_REQUESTS)
  let written = 0
  for (let caller = 0; caller < SAVED_MAX + 2_000; caller++) refusals.pace(() => void written++)
  clock.timeMs += 100
  await vi.waitFor(() => expect(written).toBe(SAVED_MAX + 200))
})
