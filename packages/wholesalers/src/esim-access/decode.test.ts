import { expect, it } from 'vitest'
import { profileReportOf, rowsOf } from './decode.ts'

const ESIM = {
  ...{ esimTranNo: 'E-1', orderNo: 'O-1', iccid: '8985200012345678904', esimStatus: 'USED_UP', smdpStatus: 'ENABLED' },
  ...{ totalVolume: 1_000, orderUsage: 1_024, packageList: [] },
}

it('usage above the total volume is reported unchanged, because the wholesaler may exceed the volume', () => {
  const [row] = rowsOf([ESIM])
  expect(profileReportOf(row!, new Date())).toMatchObject({ esimStatus: 'USED_UP', usage: 1_024n })
})

it('an eSIM’s installation time is kept', () => {
  const installationTime = '2026-11-20T09:05:00+0000'
  const [row] = rowsOf([{ esimStatus: 'IN_USE', smdpStatus: 'ENABLED', installationTime }])
  expect(profileReportOf(row!, new Date())).toMatchObject({ installationTime: new Date('2026-11-20T09:05:00Z') })
  const [unused] = rowsOf([{ esimStatus: 'GOT_RESOURCE', installationTime: '' }])
  expect(profileReportOf(unused!, new Date())).not.toHaveProperty('installationTime')
})
