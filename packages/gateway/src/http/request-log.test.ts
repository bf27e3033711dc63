import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRequestLog } from './request-log.ts'

const LINE = {
  requestId: '0199c1a0-0000-7000-8000-000000000000',
  address: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
  tenantId: '0199c1a0-0000-7000-8000-000000000001',
  operation: 'esim/profile/list',
  code: '000000',
}

let blocks: string[]
const open = () => ({ write: (lines: string) => blocks.push(lines), flushSync: () => {} })

beforeEach(() => {
  blocks = []
  vi.useFakeTimers()
})
afterEach(() => vi.useRealTimers())

it('the request log writes each line exactly once and in full, after a short delay', () => {
  const log = createRequestLog('info', open)
  for (let number = 0; number < 1_000; number++) log({ ...LINE, durationMs: number })
  expect(blocks.length).toBeGreaterThan(2)
  vi.advanceTimersByTime(100)
  for (const block of blocks) expect(block.endsWith('}\n')).toBe(true)
  const lines = blocks.join('').trimEnd().split('\n')
  const parsed = lines.map((line) => JSON.parse(line) as typeof LINE & { durationMs: number })
  expect(parsed.map(({ durationMs }) => durationMs)).toEqual(Array.from({ length: 1_000 }, (_, number) => number))
  expect(parsed[999]).toMatchObject({ ...LINE, level: 'info', msg: 'request' })
})

it('the request log writes nothing at log level warn', () => {
  createRequestLog('warn', open)({ ...LINE, durationMs: 1 })
  vi.advanceTimersByTime(100)
  expect(blocks).toEqual([])
})
