import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRequestLog } from './request-log.ts'

const LINE = {
  requestId: '0199c1a0-0000-7000-8000-000000000000',
  address: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
  tenantId: '0199c1a0-0000-7000-8000-000000000001',
  operation: 'esim/profile/list',
  code: '000000',
}

let gulps: string[]
const open = () => ({ write: (lines: string) => gulps.push(lines), flushSync: () => {} })

beforeEach(() => {
  gulps = []
  vi.useFakeTimers()
})
afterEach(() => vi.useRealTimers())

it('gathers the lines of requests, none torn, lost or doubled, and writes what is left after a moment', () => {
  const log = createRequestLog('info', open)
  for (let number = 0; number < 1_000; number++) log({ ...LINE, durationMs: number })
  expect(gulps.length).toBeGreaterThan(2)
  vi.advanceTimersByTime(100)
  for (const gulp of gulps) expect(gulp.endsWith('}\n')).toBe(true)
  const lines = gulps.join('').trimEnd().split('\n')
  const told = lines.map((line) => JSON.parse(line) as typeof LINE & { durationMs: number })
  expect(told.map(({ durationMs }) => durationMs)).toEqual(Array.from({ length: 1_000 }, (_, number) => number))
  expect(told[999]).toMatchObject({ ...LINE, level: 'info', msg: 'request' })
})

it('says nothing of requests where only warnings are wanted', () => {
  createRequestLog('warn', open)({ ...LINE, durationMs: 1 })
  vi.advanceTimersByTime(100)
  expect(gulps).toEqual([])
})
