import { createIds, isUuid } from '@dealer-esim/lib/ids.ts'
import { expect, test } from 'vitest'
import { createAttemptId, isAttemptId } from './attempt-id.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 12)
const [linkKey, otherKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
/** All ids of the same millisecond. */
const ids = createIds(() => NOW_MS)
const attemptIds = Array.from({ length: 10_000 }, () => createAttemptId({ ids, linkKey }))

test('attempts that begin in the same millisecond have different ids', () => {
  expect(new Set(attemptIds).size).toBe(attemptIds.length)
  expect(attemptIds.filter(isUuid)).toHaveLength(attemptIds.length)
})

test('an attempt id is recognised in upper and lower case, but only with its key', () => {
  for (const id of attemptIds) expect(isAttemptId(linkKey, id)).toBe(true)
  const [id] = attemptIds as [string]
  expect(isAttemptId(linkKey, id.toUpperCase())).toBe(true)
  expect(isAttemptId(otherKey, id)).toBe(false)
  expect(isAttemptId(linkKey, createAttemptId({ ids, linkKey: otherKey }))).toBe(false)
  expect(isAttemptId(linkKey, createAttemptId({ ids: createIds(() => NOW_MS + 1), linkKey }))).toBe(true)
})

test('request ids, even from the same millisecond, are not recognised as attempt ids', () => {
  const requestIds = Array.from({ length: 10_000 }, () => ids.uuid())
  expect(requestIds.filter((id) => isAttemptId(linkKey, id))).toEqual([])
  expect(isAttemptId(linkKey, 'order-7')).toBe(false)
})
