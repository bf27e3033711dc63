import { expect, test } from 'vitest'
import { Refusal } from '../lib/refusal.ts'
import { hashing } from './password.ts'

const isRefused = (error: unknown) => error instanceof Refusal && error.status === 503

test('hashes are made two at a time, fifty wait, and whoever comes then is refused before it costs anything', async () => {
  const inTurn = hashing()
  let underWay = 0
  let most = 0
  let begun = 0
  const work = async () => {
    begun++
    most = Math.max(most, ++underWay)
    await new Promise(setImmediate)
    underWay--
    return begun
  }
  const first = [inTurn(work), inTurn(work)]
  await expect.poll(() => begun).toBe(2)
  const settled = await Promise.allSettled([...first, ...Array.from({ length: 60 }, () => inTurn(work))])
  const refused = settled.filter((each) => each.status === 'rejected')
  expect([most, begun, refused.length]).toEqual([2, 52, 10])
  expect(refused.every(({ reason }) => isRefused(reason))).toBe(true)
  expect(await inTurn(work)).toBe(53)
})

test('a hash that fails gives its turn on', async () => {
  const inTurn = hashing()
  const failing = Array.from({ length: 5 }, () => inTurn(() => Promise.reject(new Error('no memory'))))
  expect((await Promise.allSettled(failing)).every((each) => each.status === 'rejected')).toBe(true)
  expect(await inTurn(async () => 'next')).toBe('next')
})
