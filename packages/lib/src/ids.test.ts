import { version } from 'uuid'
import { describe, expect, it } from 'vitest'
import { createIds, systemIds, timeOfUuid } from './ids.ts'

describe('ids', () => {
  it('are version 7 UUIDs with the current time, each greater than the previous id', () => {
    const before = Date.now()
    const ids = Array.from({ length: 20_000 }, () => systemIds.uuid())
    expect(new Set(ids.map(version))).toEqual(new Set([7]))
    expect(ids).toEqual([...new Set(ids)].sort())
    expect(timeOfUuid(ids[0]!)).toBeGreaterThanOrEqual(before)
    expect(timeOfUuid(ids[0]!)).toBeLessThanOrEqual(Date.now())
  })

  it('keep rising when the clock is set back a little, but follow a clock that is set back further', () => {
    let now = 1_700_000_000_000
    const ids = createIds(() => now)
    const first = ids.uuid()
    now -= 5_000
    const second = ids.uuid()
    expect(second > first).toBe(true)
    now -= 86_400_000
    expect(timeOfUuid(ids.uuid())).toBe(now)
  })

  it('never repeat their random part', () => {
    const tails = Array.from({ length: 5_000 }, () => systemIds.uuid().slice(-12))
    expect(new Set(tails).size).toBe(tails.length)
  })
})
