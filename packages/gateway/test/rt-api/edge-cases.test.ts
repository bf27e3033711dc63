import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { GB } from '../topups/testbed.ts'
import { createRtTestbed, type RtTestbed } from './testbed.ts'

const PRICE = 45_000

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
})
afterAll(() => bed.close())

const topUpBody = (esimTranNo: string) => ({ esimTranNo, packageCode: 'JP_1_7_TOPUP' })

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
