import { makeEid, type Profile } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import { esimOf, iccidOf, reportOf } from './esim.ts'

const PROFILE = {
  iccid: '8999900000000000017',
  smdpAddress: 'smdp.example.com',
  matchingId: 'M-1',
  ac: 'LPA:1$smdp.example.com$M-1',
  confirmationCode: null,
  pin: null,
  puk: null,
  imsi: null,
  msisdn: null,
  eid: null,
  apn: null,
  esimStatus: 'IN_USE',
  smdpStatus: 'ENABLED',
  orderUsage: 1_024,
  installBefore: null,
  activateTime: null,
  expiredTime: null,
  lastUpdateTime: '2026-11-20T13:28:09.000Z',
} as Profile

/** As a newer gateway, or one of another make, may answer. */
const foreign = (members: object) => ({ ...PROFILE, ...members }) as Profile

describe('an eSIM of an upstream', () => {
  it('is known by its ICCID without the F padding, in either case', () => {
    for (const pad of ['F', 'f']) expect(esimOf(foreign({ iccid: PROFILE.iccid + pad }))?.iccid).toBe(PROFILE.iccid)
  })

  it('in a status that we do not know has none of its own: our tables could not hold it', () => {
    const esim = esimOf(foreign({ esimStatus: 'PAUSED', smdpStatus: 'ERASED' }))
    expect([esim?.esimStatus, esim?.smdpStatus]).toEqual([undefined, undefined])
  })

  it.each(['iccid', 'smdpAddress', 'matchingId', 'ac'])('without %s cannot be read', (member) => {
    expect(esimOf(foreign({ [member]: null }))).toBeUndefined()
  })
})

describe('an identifier of an upstream that has not the form of one', () => {
  const EID = makeEid('890490320000000000000000000001')
  const ODD_EIDS = ['89049032', `${EID.slice(0, -1)}x`, EID.slice(0, -2) + String((Number(EID.slice(-2)) + 1) % 97), '']

  it.each(ODD_EIDS)('is no EID (%j): the eSIM is read without it', (eid) => {
    expect(esimOf(foreign({ eid }))).toMatchObject({ iccid: PROFILE.iccid })
    expect(esimOf(foreign({ eid }))).not.toHaveProperty('eid')
    expect(reportOf(foreign({ eid }))).not.toHaveProperty('eid')
  })

  it('a right EID is taken', () => {
    expect(esimOf(foreign({ eid: EID }))).toMatchObject({ eid: EID })
    expect(reportOf(foreign({ eid: EID }))).toMatchObject({ eid: EID })
  })

  it.each(['', '8999', '89999-00000000000017', "='1'", `${PROFILE.iccid}00`, `${PROFILE.iccid}A`])(
    'is no ICCID (%j): the eSIM cannot be read',
    (iccid) => {
      expect(iccidOf(foreign({ iccid }))).toBeUndefined()
      expect(esimOf(foreign({ iccid }))).toBeUndefined()
    },
  )

  it('an ICCID is not refused for failing Luhn: suppliers have such', () => {
    const iccid = '8999900000000000011'
    expect(esimOf(foreign({ iccid }))).toMatchObject({ iccid })
  })
})

describe('a text that no table can hold', () => {
  it.each(['\u0000', '\ud83c'])('is left out, and no eSIM is read without what installs it (%j)', (odd) => {
    expect(esimOf(foreign({ apn: `a${odd}`, msisdn: '+8190' }))).toMatchObject({ msisdn: '+8190' })
    expect(esimOf(foreign({ apn: `a${odd}` }))).not.toHaveProperty('apn')
    expect(esimOf(foreign({ smdpAddress: `a${odd}` }))).toBeUndefined()
  })
})

describe('a time that is none', () => {
  // The last two no table holds, or no eSIM was made in; a table that refuses one refuses all that is written with it.
  const ODD_TIMES = [
    undefined,
    null,
    '',
    'soon',
    7,
    {},
    '2026-13-01T00:00:00Z',
    '+020000-01-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
  ]

  it.each(ODD_TIMES)('is left out (%j)', (odd) => {
    expect(esimOf(foreign({ installBefore: odd }))).not.toHaveProperty('installBefore')
    const told = reportOf(foreign({ activateTime: odd, expiredTime: odd }))
    expect(told).not.toHaveProperty('activateTime')
    expect(told).not.toHaveProperty('expiredTime')
  })

  it.each(ODD_TIMES)('dates no report (%j): what it says may be old', (odd) => {
    expect(reportOf(foreign({ lastUpdateTime: odd }))).toBeUndefined()
  })

  it('is not one of another zone, or without milliseconds', () => {
    const installBefore = new Date('2027-01-01T00:00:00Z')
    for (const time of ['2027-01-01T09:00:00+09:00', '2027-01-01T00:00:00Z'])
      expect(esimOf(foreign({ installBefore: time }))).toMatchObject({ installBefore })
  })
})

describe('a report of an upstream', () => {
  it('tells status and usage', () => {
    const known = { smdpStatus: 'ENABLED', esimStatus: 'IN_USE', usage: 1_024n }
    expect(reportOf(PROFILE)).toEqual({ time: new Date(PROFILE.lastUpdateTime), ...known })
  })

  it('says nothing by a status or a usage that we do not know', () => {
    const told = reportOf(foreign({ esimStatus: 'PAUSED', smdpStatus: 'ERASED', orderUsage: 1.5 }))
    expect(told).toEqual({ time: new Date(PROFILE.lastUpdateTime) })
  })

  it('leaves a cancelled eSIM to the cancel that refunds it', () => {
    expect(reportOf(foreign({ esimStatus: 'CANCEL' }))).not.toHaveProperty('esimStatus')
  })
})
