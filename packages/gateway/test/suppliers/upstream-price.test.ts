import { makeIccid } from '@dealer-esim/contract'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Loop } from '@dealer-esim/lib/process/start-stop.ts'
import { gatewaySupplier } from '@dealer-esim/wholesalers/gateway/gateway.ts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { createScriptedSupplier } from '../harness/scripted-supplier.ts'
import {
  addPackage,
  addSupplier,
  addTenant,
  createShop,
  PRICE,
  payOrders,
  type Shop,
  statuses,
  waitUntil,
  walletOf,
} from '../harness/shop.ts'

/* An upstream whose price differs from the cost in our catalogue. It is simulated, and follows the contract. */

const COST = PRICE / 2n
const CONFIG = { url: 'http://127.0.0.1:1', appKey: 'demo_app_key', appSecret: 'demo_app_secret' }

let database: TestDatabase
let shop: Shop
let loop: Loop | undefined
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addSupplier(shop, 'up', 'gateway', CONFIG)
  const route = { supplier: 'up', productCode: 'X' }
  await addPackage(shop.db, 'KNOWN', [{ ...route, cost: COST }])
  await addPackage(shop.db, 'LOSS', [{ ...route, cost: COST }], true)
  await addPackage(shop.db, 'UNKNOWN', [route])
})
afterEach(async () => {
  await loop?.stop(5_000)
  loop = undefined
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

/** @returns the amounts paid, order by order */
function sellFor(currentPrice: bigint, currencyCode = 'USD'): bigint[] {
  const paid: bigint[] = []
  const answer = (body: object, status = 200) => ({
    ...{ kind: 'answer', status, headers: { 'content-type': 'application/json' }, address: '::1', truncated: false },
    body: Buffer.from(JSON.stringify(body)),
  })
  const success = (data: object) => answer({ code: '000000', message: 'success', data })
  const respond = (path: string, request: { transactionId: string; packageInfoList: { price?: number }[] }) => {
    if (path === 'account/balance') return success({ balance: 0, currencyCode })
    const { transactionId } = request
    if (path === 'esim/query') {
      return success({ transactionId, orderStatus: 'DELIVERED', profileList: [esim(transactionId)] })
    }
    const { price } = request.packageInfoList[0]!
    if (price !== undefined && BigInt(price) !== currentPrice) {
      return answer({ code: '200005', message: 'another price', data: { current: Number(currentPrice) } }, 422)
    }
    paid.push(currentPrice)
    return success({ orderNo: 'O', transactionId, orderStatus: 'PAID', amount: Number(currentPrice), currencyCode })
  }
  const outbound = {
    request: async ({ url, body }: { url: string; body: string }) => respond(url.split('/v1/')[1]!, JSON.parse(body)),
  } as unknown as Outbound
  const supplier = gatewaySupplier('up', CONFIG, { outbound })
  loop = fulfilmentLoop(createScriptedSupplier(shop, supplier).deps)
  return paid
}

let number = 0
function esim(transactionId: string) {
  number += 1
  const matchingId = `M-${number}`
  return {
    ...{ esimTranNo: shop.ids.uuid(), transactionId, iccid: makeIccid('8985123', number), esimStatus: 'GOT_RESOURCE' },
    ...{
      smdpAddress: 'a.example',
      matchingId,
      ac: `LPA:1$a.example$${matchingId}`,
      smdpStatus: null,
      installBefore: null,
    },
  }
}

/** The charge for the newest item and the recorded price of its supplier. */
async function known() {
  const [row] = await shop.db.query<{ charged: string | null; seen: string }>({
    text: `select i.supplier_charge || ' ' || i.supplier_charge_currency as charged, p.price || ' ' || p.currency_code as seen
           from order_items i cross join supplier_prices p order by i.order_id desc limit 1`,
  })
  return row
}

async function ordered(packageCode: string) {
  const tenantId = await addTenant(shop.db)
  await payOrders(shop.db, tenantId, packageCode)
  shop.wake.wake('fulfilment')
  const ended = await waitUntil(async () => {
    const now = await statuses(shop.db, tenantId)
    return (now.DELIVERED || now.FAILED) && now
  })
  return { ended, refunds: (await walletOf(shop.db, tenantId)).refunds }
}

it('a price above the sale price is not paid, and the order is refunded', async () => {
  const paid = sellFor(PRICE + 1n)
  expect(await ordered('KNOWN')).toEqual({ ended: { FAILED: 1 }, refunds: 1 })
  expect(paid).toEqual([])
  await expect.poll(known).toEqual({ charged: null, seen: `${PRICE + 1n} USD` })
})

it.each([
  ['has risen, up to the sale price', PRICE],
  ['has fallen', 1n],
  ['equals the cost', COST],
])('a price that %s is paid once', async (_, current) => {
  const paid = sellFor(current)
  expect(await ordered('KNOWN')).toEqual({ ended: { DELIVERED: 1 }, refunds: 0 })
  expect(paid).toEqual([current])
  await expect.poll(known).toEqual({ charged: `${current} USD`, seen: `${current} USD` })
})

it.each(['LOSS', 'UNKNOWN'])(
  'a package that allows a loss or lacks a known cost is bought at any price: %s',
  async (code) => {
    const paid = sellFor(PRICE * 3n)
    expect(await ordered(code)).toEqual({ ended: { DELIVERED: 1 }, refunds: 0 })
    expect(paid).toEqual([PRICE * 3n])
  },
)

it('a price in another currency is not compared with the sale price', async () => {
  const paid = sellFor(PRICE * 150n, 'JPY')
  expect(await ordered('KNOWN')).toEqual({ ended: { DELIVERED: 1 }, refunds: 0 })
  expect(paid).toEqual([PRICE * 150n])
  await expect.poll(known).toEqual({ charged: `${PRICE * 150n} JPY`, seen: `${PRICE * 150n} JPY` })
})
