import { expect, test } from 'vitest'
import { type PastRequest, requestHistory } from './call-history.ts'

function memoryStorage(): Storage {
  const values = new Map<string, string>()
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  } as Storage
}

const request = (body: string): PastRequest => {
  return { time: '2026-11-20T13:00:00.000Z', tenantId: 'T-1', operation: 'health', body, status: 200 }
}

test('keeps the twenty newest requests of each person, without duplicates', () => {
  const storage = memoryStorage()
  const history = requestHistory('ada', storage)
  for (let number = 1; number <= 25; number++) history.add(request(`{"n":${number}}`))
  history.add(request('{"n":20}'))
  expect(history.list().map(({ body }) => body)).toEqual([
    '{"n":20}',
    ...[25, 24, 23, 22, 21, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6].map((number) => `{"n":${number}}`),
  ])
  expect(requestHistory('grace', storage).list()).toEqual([])
  history.clear()
  expect(history.list()).toEqual([])
})

test('ignores stored data that is not a valid request', () => {
  const storage = memoryStorage()
  const history = requestHistory('ada', storage)
  for (const text of [
    '{',
    '7',
    '[null, 1, {"operation":"health"}]',
    `[{"operation":"esim/steal","time":"","tenantId":"","body":"","status":null}]`,
  ]) {
    storage.setItem('explorer-history:ada', text)
    expect(history.list()).toEqual([])
  }
})
