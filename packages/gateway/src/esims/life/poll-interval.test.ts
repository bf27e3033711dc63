import { describe, expect, it } from 'vitest'
import type { ProfileLife } from './esim-lifecycle.ts'
import { POLL_EVERY_S, POLL_SHORTEST_S, pollEveryS } from './poll-interval.ts'

const settings = { usageThresholds: [50, 80, 100], expiryNoticeHours: [] }
const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 12, 0, second))

const life = (orderUsage: bigint | null, second: number, parts: Partial<ProfileLife> = {}): ProfileLife => ({
  ...{ esimStatus: 'IN_USE', smdpStatus: 'ENABLED', smdpStatusTime: null, eid: null, totalVolume: 1_000n, orderUsage },
  ...{
    usageUpdateTime: at(second),
    totalDuration: 7,
    installBefore: null,
    installationTime: null,
    activateTime: at(0),
    expiredTime: null,
  },
  ...{ toppedUpAt: null, usageAlerted: 0, usageSequence: 0, expirySequence: 0, expiryAlertedHours: [] },
  ...{ expiryNoticeAt: null, pollEveryS: 1_800, ...parts },
})

describe('the polling interval', () => {
  it('is half the time until the usage is expected to reach the next threshold', () => {
    // 100 bytes in 100 s, and 200 bytes to the threshold of 50 %.
    expect(pollEveryS(life(200n, 0), life(300n, 100), settings)).toBe(100)
    // 200 bytes to the threshold of 80 %.
    expect(pollEveryS(life(500n, 0), life(600n, 100), settings)).toBe(100)
  })

  it('stays between the minimum and the usual interval while the usage grows', () => {
    expect(pollEveryS(life(300n, 0), life(499n, 1_000), settings)).toBe(POLL_SHORTEST_S)
    expect(pollEveryS(life(0n, 0), life(1n, 1_000), settings)).toBe(POLL_EVERY_S)
  })

  it('stays doubled while an eSIM is idle', () => {
    expect(pollEveryS(life(300n, 0), life(300n, 1_000), settings)).toBe(1_800)
    expect(pollEveryS(life(null, 0), life(null, 0), settings)).toBe(1_800)
    expect(pollEveryS(life(300n, 0), life(200n, 1_000), settings)).toBe(1_800)
  })

  it('is at most the usual interval for an eSIM whose status has changed', () => {
    expect(pollEveryS(life(null, 0, { esimStatus: 'GOT_RESOURCE' }), life(null, 0), settings)).toBe(POLL_EVERY_S)
  })

  it('is based on when the volume runs out if there are no thresholds', () => {
    expect(pollEveryS(life(700n, 0), life(800n, 100), { ...settings, usageThresholds: [] })).toBe(100)
    expect(pollEveryS(life(1n, 0), life(2n, 100, { totalVolume: null }), settings)).toBe(POLL_EVERY_S)
    expect(pollEveryS(life(999n, 0), life(1_000n, 100), settings)).toBe(POLL_EVERY_S)
  })
})
