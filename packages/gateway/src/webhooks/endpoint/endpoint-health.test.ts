import { expect, test } from 'vitest'
import { afterFailure } from './endpoint-health.ts'

const H = 3_600_000
const T0 = Date.parse('2026-11-20T13:00:00Z')
const failing = (alertedPercent = 0) => ({ failingSinceMs: T0, alertedPercent })

test('the first failure after a success starts the window', () => {
  const well = { failingSinceMs: null, alertedPercent: 0 }
  expect(afterFailure(well, T0, false)).toEqual({ change: 'FAILING', sinceMs: T0 })
})

test('a failure within the first half of the window changes nothing', () => {
  expect(afterFailure(failing(), T0 + 35.9 * H, false)).toEqual({ change: 'NONE' })
})

test('warnings are raised at 50, 75 and 90 percent, once each', () => {
  expect(afterFailure(failing(), T0 + 36 * H, false)).toMatchObject({ change: 'WARN', percent: 50 })
  expect(afterFailure(failing(50), T0 + 40 * H, false)).toEqual({ change: 'NONE' })
  expect(afterFailure(failing(50), T0 + 54 * H, false)).toMatchObject({ change: 'WARN', percent: 75 })
  expect(afterFailure(failing(75), T0 + 64.8 * H, false)).toMatchObject({ change: 'WARN', percent: 90 })
  expect(afterFailure(failing(90), T0 + 71.9 * H, false)).toEqual({ change: 'NONE' })
})

test('after a long silence, only the warning for the current percentage is raised', () => {
  expect(afterFailure(failing(), T0 + 66 * H, false)).toMatchObject({ change: 'WARN', percent: 90 })
})

test('the first failure after 72 hours disables the endpoint, and no earlier failure does', () => {
  expect(afterFailure(failing(90), T0 + 72 * H - 1, false)).toEqual({ change: 'NONE' })
  expect(afterFailure(failing(90), T0 + 72 * H, false)).toMatchObject({ change: 'DISABLE', reason: 'FAILING' })
})

test('410 disables the endpoint immediately', () => {
  const well = { failingSinceMs: null, alertedPercent: 0 }
  expect(afterFailure(well, T0, true)).toMatchObject({ change: 'DISABLE', reason: 'GONE' })
})
