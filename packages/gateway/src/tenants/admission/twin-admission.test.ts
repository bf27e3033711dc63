import { expect, test } from 'vitest'
import { createTwinAdmission } from './twin-admission.ts'

const noDb = { query: async () => [] }

test('all twins together send at most their limit per second, and what they did not send is not saved up', () => {
  let now = 0
  const clock = { monotonic: () => now }
  const { takeRequest } = createTwinAdmission({ liveDb: noDb, twinsDb: noDb, clock, qpsLimit: 4 })
  const taken = () => Array.from({ length: 6 }, takeRequest).filter(Boolean).length
  expect(taken()).toBe(4)
  now += 500
  expect(taken()).toBe(2)
  now += 60_000
  expect(taken()).toBe(4)
})
