import { expect, it } from 'vitest'
import { profileReportOf, rowsOf } from './decode.ts'

const ESIM = {
  ...{ esimTranNo: 'E-1', orderNo: 'O-1', iccid: '8985200012345678904', esimStatus: 'USED_UP', smdpStatus: 'ENABLED' },
  ...{ totalVolume: 1_000, orderUsage: 1_024, packageList: [] },
}

it('usage above the total volume is reported as it is: the wholesaler counts more than it sells', () => {
  const [row] = rowsOf([ESIM])
  expect(profileReportOf(row!, new Date())).toMatchObject({ esimStatus: 'USED_UP', usage: 1_024n })
})
