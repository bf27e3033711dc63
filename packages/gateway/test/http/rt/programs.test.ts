import { afterAll, beforeAll, expect, test } from 'vitest'
import { setOnSale } from '#catalogue/packages/put-packages.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { GB } from '#test/orders/topups/topup-testbed.ts'
import { familyCall } from './family-program.ts'
import { carelessShop, plainShop, type Shop } from './plain-program.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
  // Packages can be cancelled, as those of the demo catalogue.
  await bed.node.deps.db.query({
    text: `update packages set cancellable = true where package_type = 'BASE'`,
    values: [],
  })
  await setOnSale(bed.node.deps, { packageCodes: ['JP_GONE_TOPUP', 'JP_HUGE_TOPUP'] }, false, OPERATOR)
})
afterAll(() => bed.close())

async function unsignedDealer(): Promise<Dealer> {
  const dealer = await addDealer(bed.node.deps)
  const settings = { ipAllowlist: ['127.0.0.1'], dailySpendLimit: 10_000_000n, unsignedRequests: true }
  await changeSettings(bed.node.deps, dealer.tenantId, settings, OPERATOR)
  return dealer
}

async function sell(shop: Shop): Promise<void> {
  const before = await shop.balance()
  const [kept, returned] = [await shop.buy('JP', 'Café №1/é'), await shop.buy('JP', '')]
  expect(kept.ac).toMatch(/^LPA:1\$/)
  const price = (before - (await shop.balance())) / 2
  expect(price).toBeGreaterThan(0)
  expect(await shop.topUp(kept.iccid, 'Café №2')).toBe(2 * GB)
  expect(await shop.topUp(kept.iccid, 'Café №2')).toBe(2 * GB)
  const topUpPrice = before - (await shop.balance()) - 2 * price
  expect(topUpPrice).toBeGreaterThan(0)
  await shop.cancel(returned.iccid)
  await shop.cancel(returned.iccid)
  expect(await shop.balance()).toBe(before - price - topUpPrice)
  await expect(shop.cancel(kept.iccid)).rejects.toThrow('200002')
}

test('a program that sends its access code alone buys, queries, tops up and cancels', async () => {
  await sell(plainShop(bed.node.baseUrl, (await unsignedDealer()).appKey))
})

test('a program that sends nulls, empty strings and empty bodies does the same', async () => {
  await sell(carelessShop(bed.node.baseUrl, (await unsignedDealer()).appKey))
})

test('a program that signs does the same', async () => {
  const dealer = await addDealer(bed.node.deps)
  const call = async (operation: string, body?: object) => {
    for (;;) {
      const { status, success, errorCode, obj } = await familyCall(bed.node.baseUrl, dealer, operation, body)
      expect(status).toBe(200)
      if (success) return obj
      if (errorCode !== '200010' && errorCode !== '900001') throw new Error(String(errorCode))
    }
  }
  await sell({
    balance: async () => (await call('balance/query')).balance,
    async buy(_, transactionId) {
      const { orderNo } = await call('esim/order', {
        transactionId,
        packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }],
      })
      return (await call('esim/query', { orderNo })).esimList[0]
    },
    topUp: async (iccid, transactionId) =>
      (await call('esim/topup', { iccid, packageCode: 'JP_1_7_TOPUP', transactionId })).totalVolume,
    cancel: (iccid) => call('esim/cancel', { iccid }),
  })
})
