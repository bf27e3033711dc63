import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putPackages } from '../../src/catalogue/packages/put.ts'
import { OPERATOR } from '../harness/api-node.ts'
import { packageInput } from '../harness/catalogue-testbed.ts'
import { GB } from '../topups/testbed.ts'
import { createRtTestbed, type RtTestbed } from './testbed.ts'

const PRICE = 45_000

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
  const sold = { status: 'ON_SALE', prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }] }
  const packages = [
    { ...sold, packageCode: 'TH_1_7', slug: 'thailand-1' },
    { ...sold, packageCode: 'JP_2_7_TOPUP', slug: 'japan-more', packageType: 'TOPUP' },
  ]
  await putPackages(bed.node.deps, packages.map(packageInput), OPERATOR)
})
afterAll(() => bed.close())

const line = (count: unknown, packageCode = 'JP_1_7') => ({ packageCode, count })
const topUpBody = (esimTranNo: string) => ({ esimTranNo, packageCode: 'JP_1_7_TOPUP' })

describe('an order', () => {
  test('with a count below 1 is refused, although another line of the package makes up for it', async () => {
    const before = await bed.balance()
    for (const counts of [
      [5, -4],
      [-4, 5],
      [1, 0],
      [2 ** 53, 1 - 2 ** 53],
    ]) {
      const packageInfoList = counts.map((count) => line(count))
      expect([counts, await bed.codeOf('esim/order', { packageInfoList })]).toEqual([counts, '200008'])
    }
    expect(await bed.balance()).toBe(before)
  })

  test('without lines, or with lines of another type, is refused', async () => {
    const codes = []
    for (const packageInfoList of [[], {}, 'JP_1_7', [null], [[]], ['JP_1_7'], [{}], [line('1')], [line(1.5)]]) {
      codes.push(await bed.codeOf('esim/order', { packageInfoList }))
    }
    expect(codes).toEqual([...Array(3).fill('200008'), '000106', '000105', '200008', '000105', '200008', '200008'])
  })

  test('with more lines than an order has eSIMs is refused before any is looked up', async () => {
    const packageInfoList = Array.from({ length: 10_000 }, () => ({ slug: 's', count: 1 }))
    const { errorCode, errorMsg } = await bed.post('esim/order', { packageInfoList })
    expect([errorCode, errorMsg]).toEqual(['200008', 'packageInfoList: send at most 100 lines.'])
  })
})

describe('a top-up without a transactionId', () => {
  test('whose answer could not be built is repeated, not bought again', async () => {
    const { esimTranNo } = await bed.delivered()
    const before = await bed.balance()
    const swap = 'update profiles set secrets = $2 where profile_id = $1'
    const { db } = bed.node.deps
    const [{ secrets }] = (await db.query<{ secrets: Buffer }>({
      text: 'select secrets from profiles where profile_id = $1',
      values: [esimTranNo],
    })) as [{ secrets: Buffer }]
    bed.supplier.topUp = async () => {
      await db.query({ text: swap, values: [esimTranNo, Buffer.from('unreadable')] })
      return { kind: 'toppedUp' }
    }
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo))).toBe('000001')
    bed.supplier.topUp = () => ({ kind: 'toppedUp' })
    await db.query({ text: swap, values: [esimTranNo, secrets] })
    const { errorCode, obj } = await bed.post('esim/topup', topUpBody(esimTranNo))
    expect([errorCode, obj.totalVolume]).toEqual([null, 2 * GB])
    expect(await bed.balance()).toBe(before - PRICE)
  })
})

describe('an action', () => {
  test('is refused if its body is that of another action', async () => {
    const { esimTranNo } = await bed.cancellable()
    const calls = bed.actions.calls.length
    for (const action of ['SUSPEND', 'CANCEL', 'suspend', 1]) {
      const body = { transactionId: 'captured', action, esimTranNo }
      expect([action, await bed.codeOf('esim/revoke', body)]).toEqual([action, '200008'])
    }
    expect(bed.actions.calls.length).toBe(calls)
    expect(await bed.codeOf('esim/revoke', { action: 'REVOKE', esimTranNo })).toBe(null)
  })
})

describe('package/list', () => {
  test('takes a slug in place of a packageCode', async () => {
    const codesOf = async (body: object) => {
      const { obj } = await bed.post('package/list', body)
      return obj.packageList.map(({ packageCode }: { packageCode: string }) => packageCode)
    }
    expect(await codesOf({ packageCode: 'TH_1_7' })).toEqual(['TH_1_7'])
    expect(await codesOf({ packageCode: 'thailand-1' })).toEqual(['TH_1_7'])
    expect(await codesOf({ packageCode: 'japan-more', type: 'TOPUP' })).toEqual(['JP_2_7_TOPUP'])
    const { iccid } = await bed.delivered()
    expect(await codesOf({ packageCode: 'japan-more', iccid })).toEqual(['JP_2_7_TOPUP'])
    expect(await codesOf({ packageCode: 'japan-more' })).toEqual([])
    expect(await codesOf({ packageCode: 'nothing' })).toEqual([])
  })
})
