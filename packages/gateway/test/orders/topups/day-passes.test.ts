import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTopUpTestbed, DAY_PRICE, GB, type TopUpTestbed } from './topup-testbed.ts'

let bed: TopUpTestbed
let fresh: Pick<TopUpTestbed['supplier'], 'topUp' | 'query'>
beforeAll(async () => {
  bed = await createTopUpTestbed(2)
  fresh = { topUp: bed.supplier.topUp, query: bed.supplier.query }
})
afterEach(() => void Object.assign(bed.supplier, fresh))
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

describe('a day pass', () => {
  const order = (body: object, transactionId: string) =>
    bed.json(bed.dealer, 'esim/order', {
      transactionId,
      packageInfoList: [{ packageCode: 'JP_DAY', count: 1, ...body }],
    })

  it('costs its price for each day and lasts that many days', async () => {
    const { data } = await order({ periodNum: 5, price: DAY_PRICE }, 'D-5')
    expect(data.amount).toBe(5 * DAY_PRICE)
    const done = await bed.order(bed.dealer, 'D-5', 'DELIVERED')
    expect(done.packageInfoList).toMatchObject([{ periodNum: 5, price: DAY_PRICE }])
    expect(done.profileList).toMatchObject([{ totalDuration: 5, totalVolume: 5 * GB }])
    expect(bed.supplier.ordered.at(-1)).toMatchObject({ periodNum: 5 })
    expect((await order({ periodNum: 5 }, 'D-5')).data.orderNo).toBe(data.orderNo)
    expect((await order({ periodNum: 6 }, 'D-5')).code).toBe('200012')
    const [esim] = done.profileList
    const topUp = await bed.topUp(
      { ...esim, dealer: bed.dealer },
      { packageCode: 'JP_DAY_TOPUP', periodNum: 3, transactionId: 'D-3' },
    )
    expect(topUp.data.amount).toBe(3 * DAY_PRICE)
    await bed.order(bed.dealer, 'D-3', 'DELIVERED')
    const added = await bed.profile({ ...esim, dealer: bed.dealer })
    expect(added).toMatchObject({ totalDuration: 8, totalVolume: 8 * GB })
  })

  it('must be ordered with a number of days within its range; orders of other packages must not have one', async () => {
    expect((await order({}, 'D-none')).code).toBe('000105')
    expect((await order({ periodNum: 1 }, 'D-few')).code).toBe('000108')
    expect((await order({ periodNum: 31 }, 'D-many')).code).toBe('000108')
    expect((await order({ packageCode: 'JP_1_7', periodNum: 2 }, 'D-other')).code).toBe('000108')
    expect((await order({ packageCode: 'JP_1_7_TOPUP' }, 'D-topup')).code).toBe('310241')
  })

  it('for at least one day does not need periodNum, but adding it makes a different order', async () => {
    const first = await order({ packageCode: 'JP_DAY_1' }, 'D-1')
    expect(first.data.amount).toBe(DAY_PRICE)
    expect((await order({ packageCode: 'JP_DAY_1' }, 'D-1')).data.orderNo).toBe(first.data.orderNo)
    expect((await order({ packageCode: 'JP_DAY_1', periodNum: 1 }, 'D-1')).code).toBe('200012')
    expect((await bed.order(bed.dealer, 'D-1', 'DELIVERED')).packageInfoList[0].periodNum).toBe(1)
  })
})
