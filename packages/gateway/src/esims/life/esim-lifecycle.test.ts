import type { SmdpStatus } from '@dealer-esim/contract'
import type { ProfileReport } from '@dealer-esim/wholesalers/supplier.ts'
import { describe, expect, it } from 'vitest'
import { afterReport, afterTime, type ProfileLife } from './esim-lifecycle.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 12, 0, second))
const DAY_MS = 86_400_000

function profile(parts: Partial<ProfileLife> = {}): ProfileLife {
  return {
    esimStatus: 'GOT_RESOURCE',
    smdpStatus: 'RELEASED',
    smdpStatusTime: null,
    eid: null,
    totalVolume: null,
    orderUsage: null,
    usageUpdateTime: null,
    totalDuration: 7,
    installBefore: null,
    installationTime: null,
    activateTime: null,
    expiredTime: null,
    toppedUpAt: null,
    usageAlerted: 0,
    usageSequence: 0,
    expirySequence: 0,
    expiryAlertedHours: [],
    expiryNoticeAt: null,
    pollEveryS: 900,
    ...parts,
  }
}

it('the first reported installation time is kept', () => {
  const first = afterReport(profile(), { time: at(9), installationTime: at(5) }, undefined)
  expect(first.installationTime).toEqual(at(5))
  expect(afterReport(first, { time: at(20), installationTime: at(19) }, undefined)).toBe(first)
})

/** The statuses of a profile as these notifications arrive, in this order. */
function statusesAfter(...notifications: [SmdpStatus, second: number][]): (SmdpStatus | null)[] {
  let life = profile()
  return notifications.map(([smdpStatus, second]) => {
    life = afterReport(life, { smdpStatus, time: at(second) }, undefined)
    return life.smdpStatus
  })
}

describe('notifications', () => {
  it('received in order advance the status from release to deletion', () => {
    const all = ['DOWNLOAD', 'INSTALLATION', 'ENABLED', 'DISABLED', 'ENABLED', 'DELETED'] as const
    expect(statusesAfter(...all.map((status, second): [SmdpStatus, number] => [status, second]))).toEqual(all)
  })

  it('received late, repeatedly or out of order never move the status back', () => {
    expect(statusesAfter(['INSTALLATION', 4], ['DOWNLOAD', 3])).toEqual(['INSTALLATION', 'INSTALLATION'])
    expect(statusesAfter(['INSTALLATION', 4], ['DOWNLOAD', 9])).toEqual(['INSTALLATION', 'INSTALLATION'])
    expect(statusesAfter(['DELETED', 9], ['ENABLED', 5], ['ENABLED', 10])).toEqual(['DELETED', 'DELETED', 'DELETED'])
    expect(statusesAfter(['ENABLED', 5], ['DELETED', 4])).toEqual(['ENABLED', 'ENABLED'])
  })

  it('about enabling and disabling are ordered by their own time, not by arrival', () => {
    expect(statusesAfter(['ENABLED', 1], ['DISABLED', 2], ['ENABLED', 3])).toEqual(['ENABLED', 'DISABLED', 'ENABLED'])
    expect(statusesAfter(['ENABLED', 3], ['DISABLED', 2])).toEqual(['ENABLED', 'ENABLED'])
    expect(statusesAfter(['DISABLED', 2], ['DISABLED', 4], ['ENABLED', 3])).toEqual([
      'DISABLED',
      'DISABLED',
      'DISABLED',
    ])
  })

  it('in the same second are ordered by rank', () => {
    expect(statusesAfter(['DOWNLOAD', 3], ['INSTALLATION', 3])).toEqual(['DOWNLOAD', 'INSTALLATION'])
  })

  it('count as later than the delivery even if the supplier’s clock is behind ours', () => {
    expect(statusesAfter(['DOWNLOAD', -60])).toEqual(['DOWNLOAD'])
  })

  it('that change nothing return the same profile', () => {
    const life = profile({ smdpStatus: 'ENABLED', smdpStatusTime: at(5) })
    expect(afterReport(life, { smdpStatus: 'DOWNLOAD', time: at(1) }, undefined)).toBe(life)
  })
})

describe('an installation', () => {
  const installed: ProfileReport = { smdpStatus: 'INSTALLATION', time: at(4), eid: 'E' }

  it('starts the validity of an ON_INSTALL package', () => {
    expect(afterReport(profile(), installed, 'ON_INSTALL')).toMatchObject({
      esimStatus: 'IN_USE',
      activateTime: at(4),
      expiredTime: new Date(at(4).getTime() + 7 * DAY_MS),
      eid: 'E',
    })
  })

  it('puts an ON_PURCHASE package into use without changing its validity', () => {
    const running = profile({ activateTime: at(0), expiredTime: at(50) })
    const inUse = { esimStatus: 'IN_USE', activateTime: at(0), expiredTime: at(50) }
    expect(afterReport(running, installed, 'ON_PURCHASE')).toMatchObject(inUse)
  })

  it('does not activate an ON_FIRST_NETWORK package', () => {
    expect(afterReport(profile(), installed, 'ON_FIRST_NETWORK')).toMatchObject({
      esimStatus: 'GOT_RESOURCE',
      activateTime: null,
    })
  })
})

describe('usage', () => {
  it('reported as a percentage can raise the known usage, but never lower it', () => {
    const known = profile({ totalVolume: 1_000n, orderUsage: 850n, usageUpdateTime: at(1) })
    expect(afterReport(known, { remainingPercent: 10, time: at(2) }, undefined)).toMatchObject({ orderUsage: 900n })
    expect(afterReport(known, { remainingPercent: 25, time: at(2) }, undefined)).toBe(known)
    expect(afterReport(known, { remainingPercent: 10, time: at(0) }, undefined)).toBe(known)
    const unlimited = profile()
    expect(afterReport(unlimited, { remainingPercent: 10, time: at(2) }, undefined)).toBe(unlimited)
  })

  it('reported only in part can raise the known usage, but never lower it', () => {
    const known = profile({ orderUsage: 850n, usageUpdateTime: at(1) })
    expect(afterReport(known, { usageAtLeast: 900n, time: at(2) }, undefined)).toMatchObject({ orderUsage: 900n })
    expect(afterReport(profile(), { usageAtLeast: 0n, time: at(2) }, undefined)).toMatchObject({ orderUsage: 0n })
    expect(afterReport(known, { usageAtLeast: 850n, time: at(2) }, undefined)).toBe(known)
    expect(afterReport(known, { usageAtLeast: 900n, time: at(0) }, undefined)).toBe(known)
  })

  it('is taken from the newest report, judged by the report’s own time', () => {
    const first = afterReport(profile(), { usage: 50n, time: at(5) }, undefined)
    expect(afterReport(first, { usage: 40n, time: at(4) }, undefined)).toBe(first)
    expect(afterReport(first, { usage: 60n, time: at(6) }, undefined)).toMatchObject({ orderUsage: 60n })
  })
})

describe('an eSIM’s status', () => {
  it('can be advanced by the supplier, but never moved back', () => {
    const used = afterReport(profile(), { esimStatus: 'USED_UP', time: at(5) }, undefined)
    expect(used.esimStatus).toBe('USED_UP')
    expect(afterReport(used, { esimStatus: 'IN_USE', time: at(6) }, undefined).esimStatus).toBe('USED_UP')
    expect(afterReport(used, { esimStatus: 'REVOKED', time: at(6) }, undefined).esimStatus).toBe('REVOKED')
  })

  it.each([
    ['GOT_RESOURCE', { installBefore: at(5) }, 'UNUSED_EXPIRED'],
    ['GOT_RESOURCE', { expiredTime: at(5) }, 'GOT_RESOURCE'],
    ['IN_USE', { expiredTime: at(5) }, 'USED_EXPIRED'],
    ['IN_USE', { installBefore: at(5) }, 'IN_USE'],
    ['USED_UP', { expiredTime: at(5), installBefore: at(5) }, 'USED_UP'],
    ['CANCEL', { expiredTime: at(5), installBefore: at(5) }, 'CANCEL'],
  ] as const)('that is %s with %j becomes %s when that time is reached', (esimStatus, parts, after) => {
    const life = profile({ esimStatus, ...parts })
    expect(afterTime(life, at(4))).toBe(life)
    expect(afterTime(life, at(5)).esimStatus).toBe(after)
  })
})
