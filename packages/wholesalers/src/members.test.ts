import { afterEach, expect, it } from 'vitest'
import { dateOf } from './members.ts'

const ZONE = process.env.TZ

afterEach(() => {
  if (ZONE === undefined) delete process.env.TZ
  else process.env.TZ = ZONE
})

it('a time without a zone is read as UTC, wherever the gateway runs', () => {
  process.env.TZ = 'America/New_York'
  expect(new Date('2026-11-20T08:26:18').toISOString()).toBe('2026-11-20T13:26:18.000Z')
  expect(dateOf('2026-11-20T08:26:18')).toEqual(new Date('2026-11-20T08:26:18Z'))
  expect(dateOf('2026-11-20T08:26:18.767')).toEqual(new Date('2026-11-20T08:26:18.767Z'))
  expect(dateOf('2026-11-20T08:26:18+02:00')).toEqual(new Date('2026-11-20T06:26:18Z'))
  for (const other of ['2026-11-20', '2026-11-20 08:26:18', 1_795_000_000, null]) expect(dateOf(other)).toBeUndefined()
})
