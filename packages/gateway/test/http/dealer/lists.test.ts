import { randomUUID } from 'node:crypto'
import {
  type EsimUsage,
  type Location,
  ORDER_STATUSES,
  type OrderStatus,
  type OrderSummary,
  STATEMENT_KINDS,
  type StatementEntry,
} from '@dealer-esim/contract'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import type { NewOrderInput } from '#orders/placing/order-input.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { type ApiFixture, createApiFixture, PRICE } from './api-fixture.ts'

let api: ApiFixture
let dealer: Dealer
/** Newest first. */
let orders: OrderSummary[]

/** A dealer with five delivered orders. */
beforeAll(async () => {
  api = await createApiFixture()
  dealer = api.dealer
  const transactionIds: string[] = []
  for (let count = 1; count <= 5; count++) {
    const { data } = await api.order(dealer, { packageInfoList: [{ packageCode: 'JP_1_7', count }] })
    transactionIds.unshift(data.transactionId)
  }
  const loop = fulfilmentLoop(api.node.deps)
  orders = await waitUntil(async () => {
    const list = await pagesOf<OrderSummary>('order/list', 'orderList', {})
    return list.every(({ orderStatus }) => orderStatus === 'DELIVERED') && list
  })
  await loop.stop(5_000)
  expect(orders.map(({ transactionId }) => transactionId)).toEqual(transactionIds)
})
afterAll(() => api.close())

/** All rows of a list, read two per page. */
async function pagesOf<T>(operation: string, member: string, request: object, of: Dealer = dealer): Promise<T[]> {
  const rows: T[] = []
  let cursor: string | undefined
  do {
    const { code, data } = await api.json(of, operation, { pageSize: 2, ...request, ...(cursor && { cursor }) })
    expect(code).toBe('000000')
    expect(data[member].length).toBeLessThanOrEqual(2)
    rows.push(...data[member])
    cursor = data.nextCursor ?? undefined
  } while (cursor !== undefined)
  return rows
}

async function codeOf(operation: string, request: object): Promise<string> {
  return (await api.json(dealer, operation, request)).code
}

describe('order/list', () => {
  test('returns each order as esim/query does, but without eSIMs, sends and history', async () => {
    for (const order of orders) {
      const { data } = await api.json(dealer, 'esim/query', { orderNo: order.orderNo })
      const { requestId: _, profileList, sendList, statusHistory, ...rest } = data
      expect([profileList.length > 0, sendList, statusHistory.length > 0]).toEqual([true, [], true])
      expect(rest).toEqual(order)
    }
  })

  test.each(ORDER_STATUSES)('returns all orders with the status %s, newest first', async (orderStatus) => {
    const owner = await addDealer(api.node.deps)
    const placed: { orderNo: string; orderStatus: OrderStatus }[] = []
    for (let index = 0; index < 2 * ORDER_STATUSES.length; index++) {
      const { data } = await api.order(owner)
      placed.unshift({ orderNo: data.orderNo, orderStatus: ORDER_STATUSES[index % ORDER_STATUSES.length]! })
    }
    await api.node.deps.db.query(sql`
      update orders o set order_status = given.status,
        due_at = case when given.status in ('PAID', 'ALLOCATING') then o.due_at end
      from (select order_id, row_number() over (order by order_id) - 1 as index from orders
            where tenant_id = ${owner.tenantId}) numbered
      join unnest(${[...ORDER_STATUSES]}::text[]) with ordinality given (status, place)
        on given.place - 1 = numbered.index % ${ORDER_STATUSES.length}
      where o.tenant_id = ${owner.tenantId} and o.order_id = numbered.order_id`)
    const listed = await pagesOf<OrderSummary>('order/list', 'orderList', { orderStatus, pageSize: 1 }, owner)
    expect(listed.map(({ orderNo }) => orderNo)).toEqual(
      placed.filter((order) => order.orderStatus === orderStatus).map(({ orderNo }) => orderNo),
    )
  })

  test('includes the start time and excludes the end time', async () => {
    const [newest, second, third] = orders as [OrderSummary, OrderSummary, OrderSummary]
    const within = await pagesOf<OrderSummary>('order/list', 'orderList', {
      startTime: third.createTime,
      endTime: newest.createTime,
    })
    expect(within.map(({ orderNo }) => orderNo)).toEqual([second.orderNo, third.orderNo])
  })

  test('lists an order by the time of its own request, even if a later request was debited first', async () => {
    const owner = await addDealer(api.node.deps)
    const { orderPlacer, ids } = api.node.deps
    const inputs: NewOrderInput[] = []
    for (const transactionId of ['earlier', 'later']) {
      const request = { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
      inputs.push({ tenant: { tenantId: owner.tenantId, currencyCode: 'USD' }, request, orderId: ids.uuid() })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (const input of inputs.toReversed()) expect(await orderPlacer.place(input)).toMatchObject({ kind: 'placed' })
    const listed = await pagesOf<OrderSummary>('order/list', 'orderList', {}, owner)
    expect(listed.map(({ transactionId }) => transactionId)).toEqual(['later', 'earlier'])
    const [later, earlier] = listed as [OrderSummary, OrderSummary]
    expect(later.createTime > earlier.createTime).toBe(true)
    expect(await pagesOf('order/list', 'orderList', { startTime: later.createTime }, owner)).toEqual([later])
    expect(await pagesOf('order/list', 'orderList', { endTime: later.createTime }, owner)).toEqual([earlier])
  })

  test('returns all orders for the filter NEW, and no top-ups', async () => {
    expect(await pagesOf('order/list', 'orderList', { orderType: 'NEW' })).toEqual(orders)
    expect(await pagesOf('order/list', 'orderList', { orderType: 'TOPUP' })).toEqual([])
  })

  test('refuses a cursor with different filters or from another operation', async () => {
    const { data } = await api.json(dealer, 'order/list', { pageSize: 1 })
    const cursor = data.nextCursor
    expect(await codeOf('order/list', { pageSize: 1, cursor, orderStatus: 'DELIVERED' })).toBe('000108')
    expect(await codeOf('account/statement', { pageSize: 1, cursor })).toBe('000108')
  })
})

describe('account/statement', () => {
  test('numbers entries without gaps, and each balance follows from the one before', async () => {
    const entries = await pagesOf<StatementEntry>('account/statement', 'entryList', {})
    expect(entries.map(({ entryNo }) => Number(entryNo))).toEqual(entries.map((_, index) => entries.length - index))
    let balance = 0
    for (const entry of entries.toReversed()) {
      balance += entry.amount
      expect(entry.balanceAfter).toBe(balance)
    }
    const { data } = await api.json(dealer, 'account/balance', {})
    expect(balance).toBe(data.balance)
    expect(entries.filter(({ kind }) => kind === 'ORDER').map((entry) => [entry.orderNo, entry.amount])).toEqual(
      orders.map((order) => [order.orderNo, -order.amount]),
    )
  })

  test('returns only the entries of the requested kind', async () => {
    const owner = await addDealer(api.node.deps, 10)
    await api.order(owner)
    await topUp(api.node.deps, { tenantId: owner.tenantId, amount: 5n, reference: 'R-2' }, OPERATOR)
    const all = await pagesOf<StatementEntry>('account/statement', 'entryList', {}, owner)
    expect(all.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['WALLET_TOPUP', 5],
      ['ORDER', -PRICE],
      ['WALLET_TOPUP', expect.any(Number)],
    ])
    for (const kind of STATEMENT_KINDS) {
      const listed = await pagesOf<StatementEntry>('account/statement', 'entryList', { kind, pageSize: 1 }, owner)
      expect(listed).toEqual(all.filter((entry) => entry.kind === kind))
    }
  })

  test('includes the start time and excludes the end time', async () => {
    const entries = await pagesOf<StatementEntry>('account/statement', 'entryList', {})
    const [newest, second, third] = entries as [StatementEntry, StatementEntry, StatementEntry]
    const request = { startTime: third.createTime, endTime: newest.createTime }
    expect(await pagesOf('account/statement', 'entryList', request)).toEqual([second, third])
  })
})

describe('location/list', () => {
  const listed = async (language?: string): Promise<Location[]> => {
    const { data } = await api.json(dealer, 'location/list', language === undefined ? {} : { language })
    return data.locationList
  }
  const nameOf = (locations: Location[], code: string) => locations.find((each) => each.locationCode === code)?.name

  test('lists every country once, with its name in the requested language', async () => {
    const [english, german, chinese] = [await listed(), await listed('de'), await listed('zh-Hans')]
    const countries = english.filter(({ type }) => type === 'COUNTRY')
    expect(new Set(countries.map(({ locationCode }) => locationCode)).size).toBe(countries.length)
    expect(countries.length).toBeGreaterThanOrEqual(249)
    expect([english, german, chinese].map((each) => nameOf(each, 'JP'))).toEqual(['Japan', 'Japan', '日本'])
    expect(nameOf(german, 'GB')).toBe('Vereinigtes Königreich')
  })

  test('uses English for an unknown language, and refuses a malformed language', async () => {
    for (const language of ['xx', 'x-dealer', 'i-klingon', 'en-GB-oed', 'zh-min-nan']) {
      expect([language, nameOf(await listed(language), 'DE')]).toEqual([language, 'Germany'])
    }
    expect(nameOf(await listed('zh-cmn-Hans-CN'), 'JP')).toBe('日本')
    for (const language of ['e', 'de_DE', 'de-', 'de-a', '']) {
      expect([language, await codeOf('location/list', { language })]).toEqual([
        language,
        language === '' ? '000107' : '000108',
      ])
    }
  })
})

test('location/list contains the region of a package without a country list', async () => {
  const prices = [{ currencyCode: 'USD', price: PRICE, retailPrice: null }]
  const suppliers = [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }]
  const regional = { packageCode: 'REGIONAL', status: 'ON_SALE' as const, prices, suppliers }
  await putPackages(
    api.node.deps,
    [packageInput({ ...regional, locationCodes: ['!RG'], locationNetworkList: [] })],
    OPERATOR,
  )
  const { data } = await api.json(dealer, 'location/list', {})
  expect(data.locationList.filter(({ type }: Location) => type !== 'COUNTRY')).toEqual([
    { locationCode: '!RG', name: 'Regional', type: 'REGION', subLocationCodes: [] },
  ])
})

describe('esim/usage/query', () => {
  test('returns usage in the requested order, and lists the ids that are not the tenant’s eSIMs', async () => {
    const { data: profiles } = await api.json(dealer, 'esim/profile/list', { pageSize: 3 })
    const [first, second, third] = profiles.profileList.map((each: { esimTranNo: string }) => each.esimTranNo)
    await api.node.deps.db.query(sql`
      update profiles set total_volume = 1000, order_usage = 1200, suspended = true, usage_update_time = now()
      where profile_id = ${second}`)
    const absent = randomUUID()
    const request = { esimTranNoList: [third, 'no-uuid', second, absent, first, second] }
    const { data } = await api.json(dealer, 'esim/usage/query', request)
    const usages: EsimUsage[] = data.esimUsageList
    expect(usages.map(({ esimTranNo }) => esimTranNo)).toEqual([third, second, first])
    expect(usages[1]).toMatchObject({ totalVolume: 1000, orderUsage: 1200, remaining: 0, suspended: true })
    expect(usages[0]).toMatchObject({ orderUsage: null, remaining: null, suspended: false })
    expect(data.notFound).toEqual(['no-uuid', absent])
    const stranger = await addDealer(api.node.deps)
    const theirs = await api.json(stranger, 'esim/usage/query', { esimTranNoList: [first, absent] })
    expect(theirs.data).toMatchObject({ esimUsageList: [], notFound: [first, absent] })
  })

  test('refuses a request for no eSIMs or for more than a hundred', async () => {
    expect(await codeOf('esim/usage/query', { esimTranNoList: Array(101).fill('E') })).toBe('000108')
    expect(await codeOf('esim/usage/query', { esimTranNoList: [] })).toBe('000108')
    expect(await codeOf('esim/usage/query', {})).toBe('000105')
  })
})
