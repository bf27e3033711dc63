import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { actionLoop } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'
import { type ApiFixture, createApiFixture } from '../dealer/api-fixture.ts'
import { startTextShop } from './text-program.ts'

const GB = 1_073_741_824
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

test('a program that knows a pending order by its text buys, receives, tops up by slug and cancels', async () => {
  const shop = await startTextShop(api.node.baseUrl, await addDealer(api.node.deps))
  await shop.saveAddress()
  const before = await shop.balance()
  // The orders are fulfilled once the program has had the answer that one is pending.
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
    10_000,
  )
  expect(shop.unsigned).toBe(0)
  expect(await shop.topUp(kept, 'japan-2gb-15d')).toBe(4 * GB)
  expect(await shop.topUp(kept, 'japan-2gb-15d')).toBe(4 * GB) // a repeat of its transactionId
  await shop.cancel(returned)
  expect(await shop.balance()).toBe(before - PRICE - TOP_UP_PRICE)
  await shop.close()
}, 60_000)
