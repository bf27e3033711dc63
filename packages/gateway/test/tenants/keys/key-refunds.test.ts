import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { ALLOWED_OPERATIONS, createKey, listKeys, revokeKey } from '#tenants/keys/manage-keys.ts'
import { type ActionTestbed, createActionTestbed, FREE, PRICE } from '#test/esims/actions/action-testbed.ts'
import type { Dealer } from '#test/harness/api-node.ts'
import { OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { deliver } from '#test/harness/scripted-supplier.ts'
import { waitUntil } from '#test/harness/shop.ts'

/* A refund, less its fee, goes back to the restricted key that placed the order, not to the one that causes it. */

let bed: ActionTestbed
let key: Dealer
let labels = 0

beforeAll(async () => {
  bed = await createActionTestbed()
  const topUp = { packageCode: 'TOPUP', packageType: 'TOPUP', status: 'ON_SALE' } as const
  const prices = [{ currencyCode: 'USD', price: PRICE, retailPrice: null }]
  const suppliers = [{ supplier: 'sandbox', productCode: 'X' }]
  await putPackages(bed.node.deps, [packageInput({ ...topUp, prices, suppliers })], OPERATOR)
})
beforeEach(async () => {
  key = await keyOf()
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

async function keyOf(): Promise<Dealer> {
  const { tenantId } = bed.dealer
  const input = { label: `shop ${++labels}`, operations: ALLOWED_OPERATIONS, totalMax: 10n * BigInt(PRICE) }
  return { tenantId, ...(await createKey(bed.node.deps, tenantId, input, OPERATOR)) }
}

/** What a key has spent on this day and in all, also after it was revoked. */
async function spentBy({ appKey }: Dealer): Promise<[day: number, total: number]> {
  const found = (await listKeys(bed.node.deps.db, bed.dealer.tenantId)).find((one) => one.appKey === appKey)!
  return [Number(found.daySpent), Number(found.totalSpent)]
}

async function ended(transactionId: string, orderStatus: string): Promise<void> {
  await waitUntil(async () => {
    const { data } = await bed.json(bed.dealer, 'esim/query', { transactionId })
    return data.orderStatus === orderStatus
  })
}

test('a cancel gives back the price less the fee to the key that bought the eSIM, not to the one that cancels it', async () => {
  const esim = await bed.delivered({ ...FREE, feePercent: 10 }, key)
  const other = await keyOf()
  const own = await bed.delivered(FREE, other)
  expect(await spentBy(key)).toEqual([PRICE, PRICE])
  expect((await bed.act({ ...esim, dealer: other }, 'CANCEL')).code).toBe('000000')
  await bed.run()
  expect(await bed.refunds(esim)).toEqual([40_500])
  expect([await spentBy(key), await spentBy(other)]).toEqual([
    [4_500, 4_500],
    [PRICE, PRICE],
  ])
  expect((await bed.act({ ...own, dealer: bed.dealer }, 'CANCEL')).code).toBe('000000')
  await bed.run()
  expect(await spentBy(other)).toEqual([0, 0])
})

test('an operator’s cancel gives back the whole price to the key', async () => {
  const esim = await bed.delivered({ ...FREE, feePercent: 80 }, key)
  const request = { tenantId: key.tenantId, profileId: esim.esimTranNo, action: 'CANCEL', reason: 'asked' } as const
  expect(await actForOperator(bed.node.deps, request, OPERATOR)).toEqual({ kind: 'done' })
  expect(await bed.refunds(esim)).toEqual([PRICE])
  expect(await spentBy(key)).toEqual([0, 0])
})

test('a partial delivery gives back the price of what was not delivered', async () => {
  const { order } = bed.supplier.can
  let asked = 0
  const everySecond = () => (++asked % 2 === 0 ? ({ kind: 'refused', message: 'none left' } as const) : deliver())
  Object.assign(bed.supplier.can, { order: async (requests: object[]) => requests.map(everySecond) })
  try {
    const transactionId = randomUUID()
    const packageInfoList = [{ packageCode: 'JP_1_7', count: 2 }]
    expect((await bed.json(key, 'esim/order', { transactionId, packageInfoList })).code).toBe('000000')
    await ended(transactionId, 'PARTIALLY_DELIVERED')
    expect(await spentBy(key)).toEqual([PRICE, PRICE])
  } finally {
    Object.assign(bed.supplier.can, { order })
  }
})

test('a top-up that is refused gives back its price', async () => {
  const esim = await bed.delivered(FREE, key)
  Object.assign(bed.supplier.can, { topUp: async () => [{ kind: 'refused', message: 'not on this eSIM' }] })
  const transactionId = randomUUID()
  const topUp = { transactionId, esimTranNo: esim.esimTranNo, packageCode: 'TOPUP' }
  expect((await bed.json(key, 'esim/topup', topUp)).code).toBe('000000')
  await ended(transactionId, 'FAILED')
  expect(await spentBy(key)).toEqual([PRICE, PRICE])
})

test('a refund after the key was revoked goes to the wallet, and is counted for that key alone', async () => {
  const esim = await bed.delivered(FREE, key)
  const balance = async () => (await bed.json(bed.dealer, 'account/balance', {})).data.balance
  const [before, successor] = [await balance(), await keyOf()]
  await revokeKey(bed.node.deps, key.tenantId, key.appKey, OPERATOR)
  expect((await bed.act({ ...esim, dealer: bed.dealer }, 'CANCEL')).code).toBe('000000')
  await bed.run()
  expect(await balance()).toBe(before + PRICE)
  expect([await spentBy(key), await spentBy(successor)]).toEqual([
    [0, 0],
    [0, 0],
  ])
})
