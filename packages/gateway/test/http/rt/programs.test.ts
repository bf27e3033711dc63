import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { actionLoop } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { GB } from '#test/orders/topups/topup-testbed.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'
import { type ApiFixture, createApiFixture } from '../dealer/api-fixture.ts'
import { familyCall } from './family-program.ts'
import { carelessShop, plainShop, type Shop, startTextShop } from './plain-program.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
  // Packages can be cancelled, as in the demo catalogue.
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

test('a program that sends only its access code buys, queries, tops up and cancels', async () => {
  await sell(plainShop(bed.node.baseUrl, (await unsignedDealer()).appKey))
})

test('a program that sends nulls, empty strings and empty bodies buys, queries, tops up and cancels', async () => {
  await sell(carelessShop(bed.node.baseUrl, (await unsignedDealer()).appKey))
})

test('a program that signs its requests buys, queries, tops up and cancels', async () => {
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

describe('a program that recognises a pending order only by its message text', () => {
  const PRICE = 80_000
  const TOP_UP_PRICE = 30_000
  let api: ApiFixture
  const loops: { stop(deadlineMs: number): Promise<void> }[] = []

  beforeAll(async () => {
    api = await createApiFixture()
    const one = (packageCode: string, slug: string, price: number, members: object = {}) =>
      packageInput({
        ...{ packageCode, slug, status: 'ON_SALE', volume: 2 * GB, duration: 15 },
        prices: [{ currencyCode: 'USD', price, retailPrice: null }],
        suppliers: [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }],
        ...members,
      })
    const packages = [
      one('JP_2_15', 'japan-2gb-15d', PRICE, { cancelPolicy: { cancellable: true, withinDays: null, feePercent: 0 } }),
      one('JP_2_15_MORE', 'japan-2gb-15d-more', TOP_UP_PRICE, { packageType: 'TOPUP' }),
    ]
    await putPackages(api.node.deps, packages, OPERATOR)
    loops.push(actionLoop(api.node.deps), webhooksLoop({ ...api.node.deps, metrics: createMetrics() }))
  })
  afterAll(async () => {
    await Promise.all(loops.map((loop) => loop.stop(5_000)))
    await api.close()
  })

  test('buys, receives, tops up by slug and cancels', async () => {
    const shop = await startTextShop(api.node.baseUrl, await addDealer(api.node.deps))
    await shop.saveAddress()
    const before = await shop.balance()
    // The orders are fulfilled once the program has received the answer that one is pending.
    let pending = 0
    const fulfil = () => {
      if (pending++ === 0) loops.push(fulfilmentLoop(api.node.deps))
    }
    const kept = await shop.buy('japan-2gb-15d', 'Shop №1', fulfil)
    expect(pending).toBeGreaterThan(0)
    expect(kept.ac).toMatch(/^LPA:1\$/)
    const returned = await shop.buy('japan-2gb-15d', 'Shop №2', () => {})
    await vi.waitFor(
      () => expect(shop.delivered.map(({ transactionId }) => transactionId)).toEqual(['Shop №1', 'Shop №2']),
      60_000,
    )
    expect(shop.unsigned).toBe(0)
    expect(await shop.topUp(kept, 'japan-2gb-15d')).toBe(4 * GB)
    expect(await shop.topUp(kept, 'japan-2gb-15d')).toBe(4 * GB) // a repeat of its transactionId
    await shop.cancel(returned)
    expect(await shop.balance()).toBe(before - PRICE - TOP_UP_PRICE)
    await shop.close()
  }, 60_000)
})
