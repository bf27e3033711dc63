import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { expect, test } from 'vitest'
import { PARTITIONED } from '#platform/retention/retention-table.ts'
import { RETRY_STEPS_MS, SENDABLE_DAYS } from '../webhook-limits.ts'
import { nextStep } from './delivery-attempt.ts'

const NOW = Date.parse('2026-11-20T13:00:00Z')
const S = 1_000
const H = 3_600_000

function answer(status: number, headers: Record<string, string> = {}): OutboundOutcome {
  return { kind: 'answer', status, headers, body: Buffer.alloc(0), truncated: false, address: '192.0.2.1' }
}
const broken: OutboundOutcome = { kind: 'failed', phase: 'connect', sent: false, message: 'no connection' }

const wait = (outcome: OutboundOutcome, attempts: number, chance = 0.5) => {
  const next = nextStep(outcome, attempts, NOW, () => chance)
  return next.step === 'RETRY' ? next.dueMs - NOW : next.step
}

test.each([200, 201, 202, 204, 299])('HTTP status %i acknowledges an event', (status) => {
  expect(nextStep(answer(status), 1, NOW, () => 0.5)).toEqual({ step: 'ACKNOWLEDGED' })
})

test.each([100, 301, 302, 304, 400, 401, 404, 410, 429, 500, 503])(
  'HTTP status %i does not acknowledge an event',
  (status) => {
    expect(wait(answer(status), 1)).toBe(10 * S)
  },
)

test('the retry delays match the contract, and the delivery is dead after the last attempt', () => {
  const waits = Array.from({ length: 11 }, (_, index) => wait(broken, index + 1))
  const documented = [10 * S, 30 * S, 120 * S, 600 * S, 1800 * S, 2 * H, 6 * H, 12 * H, 24 * H, 24 * H, 'DEAD']
  expect(waits).toEqual(documented)
})

test('each retry delay is jittered by up to a fifth in either direction', () => {
  expect(wait(broken, 1, 0)).toBe(8 * S)
  expect(wait(broken, 1, 0.999999)).toBeCloseTo(12 * S, -2)
})

test('Retry-After can lengthen a delay to at most twice its step, but never shorten it', () => {
  expect(wait(answer(429, { 'retry-after': '15' }), 1)).toBe(15 * S)
  expect(wait(answer(503, { 'retry-after': '3600' }), 1)).toBe(20 * S)
  for (const digits of [9, 10, 17, 400]) {
    expect(wait(answer(503, { 'retry-after': '9'.repeat(digits) }), 1)).toBe(20 * S)
  }
  expect(wait(answer(429, { 'retry-after': '1' }), 4)).toBe(600 * S)
  expect(wait(answer(429, { 'retry-after': 'Fri, 20 Nov 2026 13:00:40 GMT' }), 2)).toBe(40 * S)
  expect(wait(answer(429, { 'retry-after': 'soon' }), 1)).toBe(10 * S)
})

test('HTTP status 410 marks the endpoint as gone, but 404 does not', () => {
  expect(nextStep(answer(410), 1, NOW, () => 0.5)).toMatchObject({ step: 'RETRY', gone: true })
  expect(nextStep(answer(404), 1, NOW, () => 0.5)).toMatchObject({ step: 'RETRY', gone: false })
})

test('a dead event can be sent again for 30 days, and is kept until its new attempts have ended', () => {
  const longestMs = RETRY_STEPS_MS.reduce((sum, stepMs) => sum + 2 * stepMs, 0) // requested with Retry-After
  expect(SENDABLE_DAYS * 24 * H).toBeGreaterThanOrEqual(30 * 24 * H + longestMs)
  const { keepHours, what } = PARTITIONED.find(({ table }) => table === 'events')!
  expect(what).toContain(`for ${SENDABLE_DAYS} days`)
  expect(keepHours! * H).toBeGreaterThan(SENDABLE_DAYS * 24 * H + longestMs)
})
