import { createIds, isUuid } from '@dealer-esim/lib/ids.ts'
import { expect, test } from 'vitest'
import { createAttemptId, isAttemptId } from './attempt-id.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 12)
const [linkKey, otherKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
/** All ids of one millisecond. */
const ids = createIds(() => NOW_MS)
const attemptIds = Array.from({ length: 10_000 }, () => createAttemptId({ ids, linkKey }))

test('the ids of attempts that begin in one millisecond all differ', () => {
  expect(new Set(attemptIds).size).toBe(attemptIds.length)
  expect(attemptIds.filter(isUuid)).toHaveLength(attemptIds.length)
})

test('the id of an attempt is recognised in either case, with its key alone', () => {
  for (const id of attemptIds) expect(isAttemptId(linkKey, id)).toBe(true)
  const [id] = attemptIds as [string]
  expect(isAttemptId(linkKey, id.toUpperCase())).toBe(true)
  expect(isAttemptId(otherKey, id)).toBe(false)
  expect(isAttemptId(linkKey, createAttemptId({ ids, linkKey: otherKey }))).toBe(false)
  expect(isAttemptId(linkKey, createAttemptId({ ids: createIds(() => NOW_MS + 1), linkKey }))).toBe(true)
})

test('ids of requests, of the same millisecond too, are not those of attempts', () => {
  const requestIds = Array.from({ length: 10_000 }, () => ids.uuid())
  expect(requestIds.filter((id) => isAttemptId(linkKey, id))).toEqual([])
  expect(isAttemptId(linkKey, 'order-7')).toBe(false)
})
