import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { createSimulator, type Simulator, type SimulatorOptions } from '#simulator.ts'

let simulator: Simulator
afterEach(() => simulator.close())

async function start(options?: SimulatorOptions) {
  simulator = await createSimulator('esim-access', options)
}

interface Body {
  success: boolean
  errorCode: string
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  obj: any
}

async function call(operation: string, body?: unknown, headers: Record<string, string> = {}): Promise<Body> {
  const { accessCode = '', secretKey = '' } = simulator.credentials
  const content = body === undefined ? undefined : JSON.stringify(body)
  const timestamp = String(Date.now())
  const signature = createHmac('sha256', secretKey)
    .update(`${timestamp}r1${accessCode}${content ?? ''}`)
    .digest('hex')
  const response = await fetch(`${simulator.url}/api/v1/open/${operation}`, {
    method: 'POST',
    headers: {
      'RT-AccessCode': accessCode,
      'RT-RequestID': 'r1',
      'RT-Timestamp': timestamp,
      'RT-Signature': signature,
      ...(content === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(content === undefined ? {} : { body: content }),
  })
  return response.json() as Promise<Body>
}

const code = 'P00000'
const order = (transactionId: string, extra = {}) =>
  call('esim/order', { transactionId, packageInfoList: [{ packageCode: code, count: 1 }], ...extra })
const pager = { pageNum: 1, pageSize: 50 }

it('a purchase is debited, delivered and found by order number and by time span', async () => {
  await start()
  const { obj } = await order('T-1')
  const { obj: found } = await call('esim/query', { orderNo: obj.orderNo, pager })
  expect(found.esimList).toMatchObject([{ transactionId: 'T-1', esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED' }])
  expect(found.esimList[0].iccid).toMatch(/^89\d{17}$/)
  const [startTime, endTime] = [-60_000, 60_000].map((ms) => new Date(Date.now() + ms).toISOString())
  expect((await call('esim/query', { startTime, endTime, pager })).obj.pager.total).toBe(1)
  const { balance, debited, taken } = simulator.counters()
  expect({ taken, left: balance + debited }).toEqual({ taken: 1, left: 100_000_000 })
  expect((await call('balance/query')).obj.balance).toBe(balance)
})

it('a repeated transactionId returns the same order or is refused, and never buys twice', async () => {
  await start()
  expect((await order('T-1')).obj.orderNo).toBe((await order('T-1')).obj.orderNo)
  expect(simulator.counters().takenByKey).toEqual({ 'T-1': 1 })
  await simulator.close()
  await start({ repeatedKey: 'refused' })
  await order('T-1')
  expect((await order('T-1')).errorCode).toBe('310402')
})

it('a malformed request or one without authentication is refused', async () => {
  await start()
  const good = { transactionId: 'T', packageInfoList: [{ packageCode: code, count: 1 }] }
  const codeOf = async (body: unknown, headers = {}) => (await call('esim/order', body, headers)).errorCode
  expect(await codeOf({ packageInfoList: good.packageInfoList })).toBe('000105')
  expect(await codeOf({ ...good, transactionId: null })).toBe('000106')
  expect(await codeOf({ ...good, transactionId: 'x'.repeat(51) })).toBe('000107')
  expect(await codeOf({ ...good, note: 'x' })).toBe('200008')
  expect(await codeOf({ ...good, packageInfoList: [{ packageCode: code, count: '1' }] })).toBe('200008')
  expect(await codeOf(good, { 'Content-Type': 'text/plain' })).toBe('000102')
  expect(await codeOf(good, { 'RT-AccessCode': 'other' })).toBe('401001')
  expect(await codeOf(good, { 'RT-Signature': 'f'.repeat(64) })).toBe('101003')
  expect(await codeOf(good, { 'RT-Timestamp': '1700000000000' })).toBe('101001')
  expect(await codeOf({ ...good, packageInfoList: [{ packageCode: code, count: 1, price: 7 }] })).toBe('200005')
  expect(await codeOf({ ...good, amount: 7 })).toBe('200006')
  expect(simulator.counters().taken).toBe(0)
  expect((await codeOf(good)) === '0' && simulator.counters().taken).toBe(1)
})

it('an order that is delivered later stays pending with 200010 until its delivery', async () => {
  await start()
  simulator.addFault({ kind: 'delivered-later', operation: 'order', delayMs: 60_000, times: 1 })
  const { obj } = await order('T-1')
  const find = () => call('esim/query', { orderNo: obj.orderNo, pager })
  expect(await find()).toMatchObject({ success: false, errorCode: '200010' })
  simulator.advanceClock(60_000)
  expect((await find()).obj.esimList).toHaveLength(1)
})

it('a top-up is added to the eSIM once, with a package that fits', async () => {
  await start()
  const { obj } = await order('T-1')
  const [esim] = (await call('esim/query', { orderNo: obj.orderNo, pager })).obj.esimList
  const { packageList } = (await call('package/list', { type: 'TOPUP', iccid: esim.iccid })).obj
  const body = { esimTranNo: esim.esimTranNo, packageCode: packageList[0].packageCode, transactionId: 'U-1' }
  const topped = await call('esim/topup', body)
  expect(topped.obj.totalVolume).toBe(esim.totalVolume + packageList[0].volume)
  expect((await call('esim/topup', body)).obj).toEqual(topped.obj)
  expect((await call('esim/topup', { ...body, transactionId: 'U-2', packageCode: code })).errorCode).toBe('310241')
  expect(simulator.counters().toppedUpByKey).toEqual({ 'U-1': 1 })
})

it.each([3, '3'])('a day-pass top-up adds its days, for the price of all days (periodNum %j)', async (periodNum) => {
  await start({ catalogueSize: 5 })
  const { packageList } = (await call('package/list', { type: 'TOPUP' })).obj
  const pass = packageList.find((one: { supportTopUpType: number }) => one.supportTopUpType === 3)
  await order('T-1')
  const { esimNo: esimTranNo } = simulator.esims()[0]!
  const before = (await call('esim/query', { esimTranNo, pager })).obj.esimList[0]
  const body = { esimTranNo, packageCode: pass.packageCode, transactionId: 'U-1', periodNum }
  expect((await call('esim/topup', { ...body, amount: pass.price })).errorCode).toBe('200006')
  expect((await call('esim/topup', { ...body, packageCode: packageList[0].packageCode })).errorCode).toBe('200008')
  const { debited } = simulator.counters()
  const { obj } = await call('esim/topup', { ...body, amount: 3 * pass.price })
  expect(obj.totalDuration - before.totalDuration).toBe(3)
  expect(obj.totalVolume - before.totalVolume).toBe(3 * pass.volume)
  expect(simulator.counters().debited - debited).toBe(3 * pass.price)
})

it('a cancelled eSIM is refunded, and its ICCID is reused for an eSIM with another number', async () => {
  await start()
  await order('T-1')
  const [first] = simulator.esims()
  expect(await call('esim/cancel', { esimTranNo: first!.esimNo })).toMatchObject({ success: true })
  expect((await call('esim/cancel', { esimTranNo: first!.esimNo })).errorCode).toBe('200002')
  expect(simulator.counters()).toMatchObject({ balance: 100_000_000, cancelledByKey: { 'T-1': 1 } })
  await order('T-2')
  const second = simulator.esims()[1]!
  expect([second.iccid, second.esimNo === first!.esimNo]).toEqual([first!.iccid, false])
})

it('refusals carry the error codes of the RT family', async () => {
  await start()
  const codes: Record<string, string> = {
    'out-of-stock': '200011',
    'no-balance': '200007',
    'unknown-package': '310241',
  }
  for (const [kind, expected] of Object.entries({ ...codes, 'rate-limited': '900001', down: '000001' })) {
    simulator.addFault({ kind: kind as 'down', operation: 'order', times: 1 })
    expect((await order('T-1')).errorCode).toBe(expected)
  }
  simulator.setBalance(0)
  expect((await order('T-1')).errorCode).toBe('200007')
  simulator.changeProduct({ code, inStock: false })
  expect((await order('T-1')).errorCode).toBe('200011')
  expect(simulator.counters().taken).toBe(0)
})

it('notifications of each kind go to the saved URL', async () => {
  await start()
  const received: { notifyType: string; content: Record<string, unknown> }[] = []
  const receiver = createServer(async (request, response) => {
    let content = ''
    for await (const chunk of request) content += chunk
    received.push(JSON.parse(content))
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    await call('webhook/save', { webhook: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` })
    await order('T-1')
    const { iccid, reference } = simulator.esims()[0]!
    simulator.changeEsim({ iccid, profile: 'ENABLED', status: 'IN_USE', usedBytes: 850_000_000 })
    await vi.waitFor(() => expect(received).toHaveLength(5), 20_000)
    const kinds = ['CHECK_HEALTH', 'DATA_USAGE', 'ESIM_STATUS', 'ORDER_STATUS', 'SMDP_EVENT']
    expect(received.map(({ notifyType }) => notifyType).sort()).toEqual(kinds)
    const contentOf = (kind: string) => received.find(({ notifyType }) => notifyType === kind)!.content
    expect(contentOf('ORDER_STATUS')).toEqual({ orderNo: reference, orderStatus: 'GOT_RESOURCE' })
    expect(contentOf('DATA_USAGE')).toMatchObject({ transactionId: 'T-1', remain: 150_000_000, remainThreshold: 0.8 })
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
})

it.each(['refused', 'omitted'] as const)(
  'an undelivered order in a queried time span is %s',
  async (pendingInWindow) => {
    await start({ pendingInWindow })
    simulator.addFault({ kind: 'delivered-later', operation: 'order', containing: 'T-1' })
    for (const key of ['T-1', 'T-2']) await order(key)
    const [startTime, endTime] = [-60_000, 60_000].map((ms) => new Date(Date.now() + ms).toISOString())
    const { errorCode, obj } = await call('esim/query', { startTime, endTime, pager })
    expect([errorCode, obj?.pager.total]).toEqual(pendingInWindow === 'refused' ? ['200010', undefined] : ['0', 1])
  },
)
