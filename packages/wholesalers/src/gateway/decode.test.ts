import { makeEid, type Profile } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import { iccidOf } from '#members.ts'
import { esimOf, reportOf } from './decode.ts'

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

/** An answer from a newer gateway or another implementation. */
const foreign = (members: object) => ({ ...PROFILE, ...members }) as Profile

describe('an eSIM from an upstream', () => {
  it('is read with its ICCID stripped of F padding, in upper or lower case', () => {
    for (const pad of ['F', 'f']) expect(esimOf(foreign({ iccid: PROFILE.iccid + pad }))?.iccid).toBe(PROFILE.iccid)
  })

  it('is read without an unknown status, because our tables cannot store one', () => {
    const esim = esimOf(foreign({ esimStatus: 'PAUSED', smdpStatus: 'ERASED' }))
    expect([esim?.esimStatus, esim?.smdpStatus]).toEqual([undefined, undefined])
  })

  it.each(['iccid', 'smdpAddress', 'matchingId', 'ac'])('without %s is unreadable', (member) => {
    expect(esimOf(foreign({ [member]: null }))).toBeUndefined()
  })
})

describe('among an upstream’s identifiers', () => {
  const EID = makeEid('890490320000000000000000000001')
  const ODD_EIDS = ['89049032', `${EID.slice(0, -1)}x`, EID.slice(0, -2) + String((Number(EID.slice(-2)) + 1) % 97), '']

  it.each(ODD_EIDS)('a malformed EID (%j) is left out', (eid) => {
    expect(esimOf(foreign({ eid }))).toMatchObject({ iccid: PROFILE.iccid })
    expect(esimOf(foreign({ eid }))).not.toHaveProperty('eid')
    expect(reportOf(foreign({ eid }))).not.toHaveProperty('eid')
  })

  it('a valid EID is accepted', () => {
    expect(esimOf(foreign({ eid: EID }))).toMatchObject({ eid: EID })
    expect(reportOf(foreign({ eid: EID }))).toMatchObject({ eid: EID })
  })

  it.each(['', '8999', '89999-00000000000017', "='1'", `${PROFILE.iccid}00`, `${PROFILE.iccid}A`])(
    'a malformed ICCID (%j) makes the eSIM unreadable',
    (iccid) => {
      expect(iccidOf(foreign({ iccid }))).toBeUndefined()
      expect(esimOf(foreign({ iccid }))).toBeUndefined()
    },
  )

  it('an ICCID with a wrong check digit is accepted, because some suppliers have such ICCIDs', () => {
    const iccid = '8999900000000000011'
    expect(esimOf(foreign({ iccid }))).toMatchObject({ iccid })
  })
})

describe('a text that no table can store', () => {
  it.each(['\u0000', '\ud83c'])('is left out, and makes the eSIM unreadable if it is activation data (%j)', (odd) => {
    expect(esimOf(foreign({ apn: `a${odd}`, msisdn: '+8190' }))).toMatchObject({ msisdn: '+8190' })
    expect(esimOf(foreign({ apn: `a${odd}` }))).not.toHaveProperty('apn')
    expect(esimOf(foreign({ smdpAddress: `a${odd}` }))).toBeUndefined()
  })
})

describe('an invalid time', () => {
  // No table can store the last but one, and the last is before the first eSIMs. One refused value makes the whole row fail.
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
    const report = reportOf(foreign({ activateTime: odd, expiredTime: odd }))
    expect(report).not.toHaveProperty('activateTime')
    expect(report).not.toHaveProperty('expiredTime')
  })

  it.each(ODD_TIMES)('invalidates a report if it is the report’s time (%j), because the report may be old', (odd) => {
    expect(reportOf(foreign({ lastUpdateTime: odd }))).toBeUndefined()
  })

  it('does not include times in another zone or without milliseconds', () => {
    const installBefore = new Date('2027-01-01T00:00:00Z')
    for (const time of ['2027-01-01T09:00:00+09:00', '2027-01-01T00:00:00Z'])
      expect(esimOf(foreign({ installBefore: time }))).toMatchObject({ installBefore })
  })
})

describe('a report from an upstream', () => {
  it('contains status and usage', () => {
    const known = { smdpStatus: 'ENABLED', esimStatus: 'IN_USE', usage: 1_024n }
    expect(reportOf(PROFILE)).toEqual({ time: new Date(PROFILE.lastUpdateTime), ...known })
  })

  it('leaves out an unknown status or usage', () => {
    const report = reportOf(foreign({ esimStatus: 'PAUSED', smdpStatus: 'ERASED', orderUsage: 1.5 }))
    expect(report).toEqual({ time: new Date(PROFILE.lastUpdateTime) })
  })

  it('leaves out the status CANCEL, which comes with a refund', () => {
    expect(reportOf(foreign({ esimStatus: 'CANCEL' }))).not.toHaveProperty('esimStatus')
  })
})
