import { describe, expect, it } from 'vitest'
import { parseNotification } from './notification.ts'

const NOW = new Date('2026-11-20T12:00:00Z')
const ICCID = '8985222000000000019'
const EID = '89049032123451234512345678901235'
const BODY = {
  header: { functionRequesterIdentifier: '1.2.3', functionCallIdentifier: 'call' },
  iccid: `${ICCID}F`,
  eid: EID,
  profileType: 'TYPE',
  timestamp: '2026-11-20T11:59:00Z',
  notificationPointId: 4,
  notificationPointStatus: { status: 'Executed-Success' },
}

const progress = (parts: object) => parseNotification('handleDownloadProgressInfo', { ...BODY, ...parts }, NOW)
const status = (parts: object) => progress(parts)?.report?.smdpStatus
const { notificationPointId: _, notificationPointStatus: __, ...COMMON } = BODY
const event = (notificationEvent: unknown) =>
  parseNotification('handleNotification', { ...COMMON, notificationEvent }, NOW)?.report?.smdpStatus

describe('a progress notification', () => {
  it('contains the status, the time and the device', () => {
    expect(progress({})).toEqual({
      iccid: ICCID,
      report: {
        time: new Date('2026-11-20T11:59:00Z'),
        smdpStatus: 'INSTALLATION',
        installationTime: new Date('2026-11-20T11:59:00Z'),
        eid: EID,
      },
    })
  })

  it.each([
    [3, 'DOWNLOAD'],
    [4, 'INSTALLATION'],
    ['3', 'DOWNLOAD'],
    [' 4 ', 'INSTALLATION'],
    ['ProfileInstalled', 'INSTALLATION'],
  ])('at point %j is %s', (notificationPointId, expected) => {
    expect(status({ notificationPointId })).toBe(expected)
  })

  it.each([1, 2, 5, 103, '99', 'EligibilityCheck', null, undefined, {}, [3]])(
    'at point %j is valid and ignored',
    (notificationPointId) => {
      expect(progress({ notificationPointId, eid: undefined })).toEqual({ iccid: ICCID, report: undefined })
    },
  )

  it.each([
    [100, 'ENABLED'],
    [101, 'DISABLED'],
    ['102', 'DELETED'],
  ])('at the extra point %j is %s, and is reported as an extra point', (notificationPointId, expected) => {
    expect(progress({ notificationPointId })).toMatchObject({ isExtraPoint: true, report: { smdpStatus: expected } })
  })

  it('about a failed step is ignored', () => {
    expect(status({ notificationPointStatus: { status: 'Failed', statusCodeData: {} } })).toBeUndefined()
    expect(status({ notificationPointStatus: { status: 'Executed-WithWarning' } })).toBe('INSTALLATION')
    expect(status({ notificationPointStatus: undefined })).toBe('INSTALLATION')
  })

  it('contains the device only from the installation on, because any device may request the profile earlier', () => {
    expect(progress({ notificationPointId: 3 })?.report).not.toHaveProperty('eid')
    expect(progress({ eid: '123' })?.report).not.toHaveProperty('eid')
  })
})

describe('a profile management notification', () => {
  it.each([
    [0, 'INSTALLATION'],
    [1, 'ENABLED'],
    [2, 'DISABLED'],
    [3, 'DELETED'],
    ['1', 'ENABLED'],
    ['notificationEnable', 'ENABLED'],
    ['DISABLE', 'DISABLED'],
    ['deleted', 'DELETED'],
    ['enable failed', undefined],
    [9, undefined],
  ])('with the event %j counts as %s', (value, expected) => {
    expect(event(value)).toBe(expected)
  })
})

describe('a notification’s time', () => {
  const time = (parts: object) => progress({ timestamp: undefined, ...parts })?.report?.time.toISOString()

  it.each([
    [{ timestamp: '2026-11-20T12:59:00+01:00' }],
    [{ timestamp: '1795175940000' }],
    [{ timestamp: 1_795_175_940_000 }],
    [{ timestamp: '1795175940' }],
    [{ timeStamp: 1_795_175_940 }],
    [{ timeStamp: '2026-11-20T11:59:00Z' }],
  ])('is the event’s own time, in every form that vendors use: %j', (parts) => {
    expect(time(parts)).toBe('2026-11-20T11:59:00.000Z')
  })

  it('is the time of arrival if the event’s own time is missing, invalid or in the future', () => {
    const tooEarlyForTables = [{ timestamp: -1e20 }, { timestamp: '-200000-01-01T00:00:00Z' }]
    const bad = [
      {},
      { timestamp: 'yesterday' },
      { timestamp: '2026-11-20T12:06:00Z' },
      { timestamp: {} },
      ...tooEarlyForTables,
    ]
    expect(bad.map(time)).toEqual(bad.map(() => NOW.toISOString()))
  })
})

it.each([{ iccid: undefined }, { iccid: 8985222000000000000 }, { iccid: '89' }, { iccid: "8985'; drop" }])(
  'a notification without an ICCID is invalid: %j',
  (parts) => {
    expect(progress(parts)).toBeUndefined()
  },
)
