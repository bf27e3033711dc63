import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

const PRICE = 45_000

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
})
afterAll(() => bed.close())

const one = (transactionId: unknown, packageCode = 'JP_1_7') => ({
  transactionId,
  packageInfoList: [{ packageCode, count: 1 }],
})
const order = async (body: object) => {
  const { errorCode, obj } = await bed.post('esim/order', body)
  expect(errorCode).toBe(null)
  return obj as { orderNo: string; transactionId: string }
}

describe('a transactionId', () => {
  test('in any form identifies one order, and every answer and event returns it unchanged', async () => {
    for (const transactionId of ['订单 №1 🙂', 'a b', 'x'.repeat(65), ' leading', '"quoted\\"', '\n']) {
      const before = await bed.balance()
      const first = await order(one(transactionId))
      const repeats = await Promise.all(Array.from({ length: 5 }, () => order(one(transactionId))))
      for (const repeat of repeats) expect(repeat).toEqual({ orderNo: first.orderNo, transactionId })
      expect(await bed.balance()).toBe(before - PRICE)
      expect(await bed.codeOf('esim/order', one(transactionId, 'JP_DAY_1'))).toBe('310402')

      const { obj } = await waitUntil(async () => {
        const answer = await bed.post('esim/query', { orderNo: first.orderNo })
        return answer.success && answer
      })
      expect([obj.esimList[0].transactionId, obj.esimList[0].packageList[0].transactionId]).toEqual([
        transactionId,
        transactionId,
      ])
      const ours = await bed.json(bed.dealer, 'esim/query', { orderNo: first.orderNo })
      expect([ours.data.transactionId, ours.data.profileList[0].transactionId]).toEqual([transactionId, transactionId])
      const events = await bed.node.deps.db.query<{ transactionId: string; notifyType: string }>({
        text: `select notify_type, content ->> 'transactionId' as transaction_id from events
               where content ->> 'orderNo' = $1`,
        values: [first.orderNo],
      })
      expect(new Set(events.map(({ notifyType }) => notifyType))).toEqual(new Set(['ORDER_PAID', 'DELIVERY_UPDATED']))
      expect(events.map((event) => event.transactionId)).toEqual(events.map(() => transactionId))
    }
  })

  test('is compared by its exact bytes', async () => {
    const [composed, decomposed] = ['Caf\u00e9 1', 'Cafe\u0301 1']
    expect((await order(one(composed))).orderNo).not.toBe((await order(one(decomposed))).orderNo)
  })

  test('with the reserved prefix is refused by both APIs, so that nobody can take a derived id', async () => {
    await order(one('a derived id'))
    const [{ transactionId }] = (await bed.node.deps.db.query<{ transactionId: string }>({
      text: `select transaction_id from orders where sent ->> 'transactionId' = 'a derived id'`,
      values: [],
    })) as [{ transactionId: string }]
    expect(transactionId).toMatch(/^rt-sha256:[A-Za-z0-9_-]{43}$/)
    const before = await bed.balance()
    expect(await bed.codeOf('esim/order', one(transactionId))).toBe('200008')
    const requests: [string, object][] = [
      ['esim/order', one(transactionId)],
      ['esim/query', { transactionId }],
      ['esim/topup', { transactionId, esimTranNo: 'any', packageCode: 'JP_1_7_TOPUP' }],
      ['esim/cancel', { transactionId, action: 'CANCEL', esimTranNo: 'any' }],
    ]
    for (const [operation, body] of requests) {
      const answer = await bed.json(bed.dealer, operation, body)
      expect([operation, answer.code]).toEqual([operation, '000108'])
    }
    expect(await bed.balance()).toBe(before)
  })

  test('that cannot be stored buys nothing', async () => {
    const before = await bed.balance()
    for (const [sent, code] of [
      ['x'.repeat(1_001), '000107'],
      [12, '200008'],
      ['a\u0000b', '200008'],
      ['\ud800', '200008'],
    ]) {
      expect([sent, await bed.codeOf('esim/order', one(sent))]).toEqual([sent, code])
    }
    expect(await bed.balance()).toBe(before)
  })

  test('that is left out makes each call a new order', async () => {
    const before = await bed.balance()
    const orders = []
    for (const transactionId of ['', null, undefined]) orders.push(await order(one(transactionId)))
    expect(new Set(orders.map(({ orderNo }) => orderNo)).size).toBe(3)
    expect(await bed.balance()).toBe(before - 3 * PRICE)
  })

  test('used by another dealer may be used again', async () => {
    await order(one('shared №'))
    const stranger = await addDealer(bed.node.deps)
    expect(await bed.codeOf('esim/order', one('shared №'), {}, stranger)).toBe(null)
  })

  test('used through both APIs at the same time is debited once', async () => {
    const before = await bed.balance()
    const calls = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? order(one('BOTH')).then(({ orderNo }) => orderNo)
        : bed.json(bed.dealer, 'esim/order', one('BOTH')).then(({ data }) => data.orderNo),
    )
    expect(new Set(await Promise.all(calls)).size).toBe(1)
    expect(await bed.balance()).toBe(before - PRICE)
  })
})

describe('order lines', () => {
  const put = (packageCode: string, slug: string) =>
    putPackages(
      bed.node.deps,
      [packageInput({ packageCode, slug, status: 'ON_SALE', prices: [{ currencyCode: 'USD', price: PRICE }] })],
      OPERATOR,
    )
  const linesOf = (orderNo: string) =>
    bed.json(bed.dealer, 'esim/query', { orderNo }).then(({ data }) => data.packageInfoList)

  test('that identify one package by code and by slug are added up', async () => {
    await put('KR_1_7', 'korea-1')
    const packageInfoList = [
      { slug: 'korea-1', count: 1 },
      { packageCode: 'KR_1_7', count: 2, price: PRICE },
      { packageCode: 'korea-1', slug: '', count: 3, price: 0 },
    ]
    const before = await bed.balance()
    const { orderNo } = await order({ transactionId: 'K-1', packageInfoList })
    expect(await linesOf(orderNo)).toMatchObject([{ packageCode: 'KR_1_7', count: 6, price: PRICE }])
    expect((await order({ transactionId: 'K-1', packageInfoList: packageInfoList.toReversed() })).orderNo).toBe(orderNo)
    const merged = { transactionId: 'K-1', packageInfoList: [{ packageCode: 'KR_1_7', count: 6 }] }
    expect((await order(merged)).orderNo).toBe(orderNo)
    expect((await bed.json(bed.dealer, 'esim/order', merged)).data.orderNo).toBe(orderNo)
    const fewer = { transactionId: 'K-1', packageInfoList: packageInfoList.slice(1) }
    expect(await bed.codeOf('esim/order', fewer)).toBe('310402')
    expect(await bed.balance()).toBe(before - 6 * PRICE)
  })

  test('with two prices for one package are refused, even if one price is right', async () => {
    const before = await bed.balance()
    for (const prices of [
      [PRICE, PRICE + 1],
      [PRICE + 1, PRICE],
    ]) {
      const packageInfoList = prices.map((price) => ({ packageCode: 'JP_1_7', count: 1, price }))
      expect(await bed.codeOf('esim/order', { transactionId: 'P-1', packageInfoList })).toBe('200005')
    }
    expect(await bed.balance()).toBe(before)
  })

  test('can be repeated with a slug that the catalogue has removed or reassigned', async () => {
    await put('CN_1_7', 'china-1')
    const body = {
      transactionId: 'C-1',
      packageInfoList: [
        { packageCode: 'china-1', count: 1 },
        { packageCode: 'CN_1_7', count: 1 },
      ],
    }
    const { orderNo } = await order(body)
    await setOnSale(bed.node.deps, { packageCodes: ['CN_1_7'] }, false, OPERATOR)
    expect((await order(body)).orderNo).toBe(orderNo)
    await put('CN_1_7', 'china-old')
    await put('CN_2_7', 'china-1')
    expect((await order(body)).orderNo).toBe(orderNo)
    const other = { ...body, packageInfoList: [{ packageCode: 'CN_2_7', count: 2 }] }
    expect(await bed.codeOf('esim/order', other)).toBe('310402')
    expect(await linesOf(orderNo)).toMatchObject([{ packageCode: 'CN_1_7', count: 2 }])
    const { obj } = await bed.post('esim/order', {
      ...body,
      transactionId: 'C-2',
      packageInfoList: [{ slug: 'china-1', count: 1 }],
    })
    expect(await linesOf(obj.orderNo)).toMatchObject([{ packageCode: 'CN_2_7', count: 1 }])
  })
})
