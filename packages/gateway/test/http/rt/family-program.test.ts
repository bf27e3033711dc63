import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ApiFixture, createApiFixture, PRICE } from '../dealer/api-fixture.ts'
import { type FamilyParts, familyCall } from './family-program.ts'

let api: ApiFixture
let dealer: Dealer

beforeAll(async () => {
  api = await createApiFixture()
  dealer = api.dealer
})
afterAll(() => api.close())

const post = (operation: string, body?: object, parts?: FamilyParts, of = dealer) =>
  familyCall(api.node.baseUrl, of, operation, body, parts)
const oneOf = (packageCode: string, transactionId?: string) => ({
  transactionId,
  packageInfoList: [{ packageCode, count: 1 }],
})
const balanceOf = async (of: Dealer): Promise<number> => (await post('balance/query', undefined, {}, of)).obj.balance
const codeOf = async (operation: string, body?: object, parts?: FamilyParts, of?: Dealer) => {
  const { status, success, errorCode, errorMsg, errorMessage, obj } = await post(operation, body, parts, of)
  expect([status, success, obj]).toEqual([200, errorCode === null, success ? obj : {}])
  expect(errorMsg).toBe(errorMessage)
  return errorCode
}

describe('an RT family program that signs its requests', () => {
  test('reads its balance without a body and without a Content-Type', async () => {
    const answer = await post('balance/query')
    expect({ ...answer, headers: {} }).toEqual({
      ...{ headers: {}, status: 200, success: true, errorCode: null, errorMsg: null, errorMessage: null },
      obj: { balance: 10_000_000_000, lastUpdateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/) },
    })
  })

  test('finds packages in the family’s format, although it sends nulls and empty strings', async () => {
    const { obj } = await post('package/list', {
      locationCode: '',
      type: null,
      packageCode: 'JP_1_7',
      slug: '',
      more: 1,
    })
    expect(obj.packageList).toHaveLength(1)
    const [item] = obj.packageList
    expect(Object.keys(item).sort()).toEqual(
      'activeType,currencyCode,dataType,description,duration,durationUnit,favorite,fupPolicy,ipExport,location,locationCode,locationNetworkList,name,packageCode,price,retailPrice,slug,smsStatus,speed,supportTopUpType,unusedValidTime,volume'.split(
        ',',
      ),
    )
    expect(item).toMatchObject({ packageCode: 'JP_1_7', price: PRICE, currencyCode: 'USD', supportTopUpType: 1 })
    const { obj: locations } = await post('location/list')
    expect(locations.locationList).toContainEqual({ code: 'JP', name: 'Japan', type: 1, subLocationList: [] })
  })

  test('buys by slug, waits while the order is pending, and receives its eSIMs', async () => {
    const before = await balanceOf(dealer)
    const [{ slug }] = (await post('package/list', { packageCode: 'JP_1_7' })).obj.packageList
    const lines = [{ slug, packageCode: '', count: 1, price: 0 }]
    const body = { transactionId: 'F-1', amount: 0, packageInfoList: [...lines, { packageCode: 'JP_1_7', count: 2 }] }
    const placed = await post('esim/order', body)
    expect(placed).toMatchObject({ success: true, obj: { transactionId: 'F-1' } })
    const { orderNo } = placed.obj
    expect(await codeOf('esim/query', { orderNo, iccid: '' })).toBe('200010')
    expect(await codeOf('esim/query', { orderNo: '', transactionId: 'F-1' })).toBe('200010')
    expect((await post('esim/order', body)).obj.orderNo).toBe(orderNo)
    expect(await codeOf('esim/order', oneOf('JP_1_7', 'F-1'))).toBe('310402')
    expect(await balanceOf(dealer)).toBe(before - 3 * PRICE)

    const loop = fulfilmentLoop(api.node.deps)
    const { obj } = await waitUntil(async () => {
      const answer = await post('esim/query', { orderNo, pager: { pageNum: 1, pageSize: 50 } })
      return answer.success && answer
    })
    await loop.stop(5_000)
    expect(obj.pager).toEqual({ pageNum: 1, pageSize: 50, total: 3 })
    const [esim] = obj.esimList
    expect(Object.keys(esim).sort()).toEqual(
      'ac,activateTime,activeType,apn,dataType,durationUnit,eid,esimStatus,esimTranNo,expiredTime,fupPolicy,iccid,imsi,installationTime,ipExport,msisdn,orderNo,orderUsage,packageList,pin,puk,qrCodeUrl,shortUrl,smdpStatus,smsStatus,supportTopUpType,totalDuration,totalVolume,transactionId'.split(
        ',',
      ),
    )
    expect(esim).toMatchObject({
      orderNo,
      transactionId: 'F-1',
      esimStatus: 'GOT_RESOURCE',
      orderUsage: expect.any(Number),
    })
    expect(Object.keys(esim.packageList[0]).sort()).toEqual(
      'createTime,duration,esimTranNo,locationCode,packageCode,packageName,slug,transactionId,volume'.split(','),
    )
    expect(esim.ac).toMatch(/^LPA:1\$/)

    const ids = obj.esimList.map((each: { esimTranNo: string }) => each.esimTranNo)
    const paged: string[] = []
    for (let pageNum = 1; pageNum <= 4; pageNum++) {
      const page = { startTime: '2020-01-01T00:00:00+0000', pager: { pageNum, pageSize: 1 } }
      const { obj: part } = await post('esim/query', page)
      expect(part.pager.total).toBe(3)
      paged.push(...part.esimList.map((each: { esimTranNo: string }) => each.esimTranNo))
    }
    expect(paged).toEqual([...ids].sort())
    const byIccid = await post('esim/query', { iccid: esim.iccid })
    expect(byIccid.obj).toMatchObject({
      esimList: [{ esimTranNo: esim.esimTranNo }],
      pager: { total: 1, pageSize: 500 },
    })
    const usage = await post('esim/usage/query', { esimTranNoList: [esim.esimTranNo] })
    expect(usage.obj.esimUsageList).toMatchObject([{ esimTranNo: esim.esimTranNo, totalData: esim.totalVolume }])
    expect(Object.keys(usage.obj.esimUsageList[0]).sort()).toEqual([
      'dataUsage',
      'esimTranNo',
      'lastUpdateTime',
      'totalData',
    ])

    const other = await addDealer(api.node.deps)
    expect(await codeOf('esim/query', { orderNo }, {}, other)).toBe('310272')
    expect((await post('esim/query', { esimTranNo: esim.esimTranNo }, {}, other)).obj.esimList).toEqual([])
  })

  test('places a new order with every call that has no transactionId', async () => {
    const before = await balanceOf(dealer)
    const [first, second] = [await post('esim/order', oneOf('JP_1_7', '')), await post('esim/order', oneOf('JP_1_7'))]
    expect(first.obj.orderNo).not.toBe(second.obj.orderNo)
    expect(await balanceOf(dealer)).toBe(before - 2 * PRICE)
  })

  test('is debited once if it orders through both APIs at the same time', async () => {
    const before = await balanceOf(dealer)
    const calls = Array.from({ length: 10 }, (_, index) =>
      index % 2 === 0
        ? post('esim/order', oneOf('JP_1_7', 'BOTH')).then(({ obj }) => obj.orderNo)
        : api.order(dealer, { transactionId: 'BOTH' }).then(({ data }) => data.orderNo),
    )
    expect(new Set(await Promise.all(calls)).size).toBe(1)
    expect(await balanceOf(dealer)).toBe(before - PRICE)
  })
})

describe('a refusal', () => {
  test('has HTTP status 200 and an error code of the RT family', async () => {
    const poor = await addDealer(api.node.deps, 0)
    expect(await codeOf('esim/order', oneOf('JP_1_7', 'P-1'), {}, poor)).toBe('200007')
    expect(await codeOf('esim/order', oneOf('NOT_THERE', 'R-1'))).toBe('310241')
    expect(await codeOf('esim/order', oneOf('GONE', 'R-1'))).toBe('310243')
    expect(await codeOf('esim/order', { ...oneOf('JP_1_7', 'R-1'), amount: 1 })).toBe('200006')
    expect(await codeOf('esim/order', { transactionId: 'R-1' })).toBe('000105')
    expect(await codeOf('esim/order', { ...oneOf('JP_1_7', 'R-1'), notifyType: 'ORDER_PAID' })).toBe('200008')
    expect(await codeOf('esim/query', {})).toBe('000105')
    expect(await codeOf('esim/query', { orderNo: 'unknown' })).toBe('310272')
    expect(await codeOf('esim/query', { startTime: 'yesterday' })).toBe('200008')
    expect(await codeOf('balance/query', undefined, { method: 'GET' })).toBe('000103')
    expect(await codeOf('esim/nothing', {})).toBe('000102')
  })

  test('for a pending order begins with the words that programs recognise', async () => {
    const { orderNo } = (
      await post('esim/order', { ...oneOf('JP_1_7', 'P-3'), packageInfoList: [{ packageCode: 'JP_1_7', count: 3 }] })
    ).obj
    const textOf = async () => {
      const { errorCode, errorMsg, errorMessage } = await post('esim/query', { orderNo })
      expect([errorCode, errorMessage]).toEqual(['200010', errorMsg])
      return errorMsg
    }
    const words = 'the batchOrder has been getting resource, total:[3], success:'
    expect(await textOf()).toMatch(`${words}[0]. The eSIMs are being prepared.`)
    await api.node.deps.db.query({
      text: `update order_items set item_status = 'DELIVERED' where item_no <= 2
             and order_id = (select order_id from orders where transaction_id = 'P-3')`,
      values: [],
    })
    expect(await textOf()).toMatch(`${words}[2]. The eSIMs are being prepared.`)
  })

  test('has code 200009 for a failed order, and 200010 for an order under review', async () => {
    const { data } = await api.order(dealer, { transactionId: 'X-1' })
    await api.node.deps.db.query({
      text: `update orders set order_status = 'UNDER_REVIEW' where transaction_id = 'X-1'`,
      values: [],
    })
    expect(await codeOf('esim/query', { orderNo: data.orderNo })).toBe('200010')
    await api.node.deps.db.query({
      text: `update orders set order_status = 'FAILED' where transaction_id = 'X-1'`,
      values: [],
    })
    expect(await codeOf('esim/query', { orderNo: data.orderNo })).toBe('200009')
  })

  test('is returned for unsigned, wrongly signed, repeated and disallowed requests', async () => {
    const unsigned = { 'RT-RequestID': undefined, 'RT-Timestamp': undefined, 'RT-Signature': undefined }
    expect(await codeOf('balance/query', {}, { headers: unsigned })).toBe('000101')
    const spoofed = { ...unsigned, 'X-Forwarded-For': '127.0.0.1' }
    expect(await codeOf('balance/query', {}, { headers: spoofed })).toBe('000101')
    expect(await codeOf('balance/query', {}, { headers: { 'RT-Signature': '0'.repeat(64) } })).toBe('101003')
    expect(await codeOf('balance/query', {}, { headers: { 'RT-Signature': 'x' } })).toBe('000102')
    const requestId = randomUUID()
    expect((await api.json(dealer, 'health', {}, { requestId })).code).toBe('000000')
    expect(await codeOf('balance/query', {}, { requestId })).toBe('900001')
    const listed = await api.dealerWith({ ipAllowlist: ['192.0.2.1'] })
    expect(await codeOf('balance/query', {}, {}, listed)).toBe('101002')
  })

  test('has code 401001 for an account in another currency', async () => {
    const euro = await createTenant(api.node.deps, { clientName: 'Euro dealer', currencyCode: 'EUR' }, OPERATOR)
    expect(await codeOf('balance/query', {}, {}, euro)).toBe('401001')
  })
})
