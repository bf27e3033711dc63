import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { expect, test } from 'vitest'
import { createHashQueue } from './password.ts'

const isRefused = (error: unknown) => error instanceof Refusal && error.status === 503

test('two hashes run concurrently, fifty wait, and any more are refused without being started', async () => {
  const queue = createHashQueue()
  let running = 0
  let runningMax = 0
  let started = 0
  const work = async () => {
    started++
    runningMax = Math.max(runningMax, ++running)
    await new Promise(setImmediate)
    running--
    return started
  }
  const first = [queue(work), queue(work)]
  await expect.poll(() => started).toBe(2)
  const results = await Promise.allSettled([...first, ...Array.from({ length: 60 }, () => queue(work))])
  const refused = results.filter((each) => each.status === 'rejected')
  expect([runningMax, started, refused.length]).toEqual([2, 52, 10])
  expect(refused.every(({ reason }) => isRefused(reason))).toBe(true)
  expect(await queue(work)).toBe(53)
})

test('the next hash runs after a hash fails', async () => {
  const queue = createHashQueue()
  const failing = Array.from({ length: 5 }, () => queue(() => Promise.reject(new Error('no memory'))))
  expect((await Promise.allSettled(failing)).every((each) => each.status === 'rejected')).toBe(true)
  expect(await queue(async () => 'next')).toBe('next')
})
