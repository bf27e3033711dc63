import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { actionLoop } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type ApiFixture, createApiFixture } from '../dealer/api-fixture.ts'
import { type FamilyAnswer, familyCall, familyHeaders } from './family-program.ts'
import { startFamilyReceiver } from './family-receiver.ts'

/*
 * Every member of every answer, and the form of its values, as the family's programs read them. This table is written from
 * the description of their API, and imports nothing from our code.
 */

type Form = (value: unknown) => boolean
type Shape = { [member: string]: Form | Shape | [Shape] }

const text: Form = (value) => typeof value === 'string'
const name: Form = (value) => typeof value === 'string' && value !== ''
const whole: Form = (value) => Number.isSafeInteger(value)
const count: Form = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const time: Form = (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+0000|Z)$/.test(value)
const digits: Form = (value) => typeof value === 'string' && /^\d{18,20}$/.test(value)
const url: Form = (value) => typeof value === 'string' && URL.canParse(value)
const flag: Form = (value) => typeof value === 'boolean'
const oneOf =
  (...values: unknown[]): Form =>
  (value) =>
    values.includes(value)
const orNull =
  (form: Form): Form =>
  (value) =>
    value === null || form(value)

const ESIM_STATUS = oneOf(
  ...['GOT_RESOURCE', 'IN_USE', 'USED_UP', 'USED_EXPIRED', 'UNUSED_EXPIRED', 'CANCEL', 'REVOKED'],
)
const SMDP_STATUS = oneOf('RELEASED', 'DOWNLOAD', 'INSTALLATION', 'ENABLED', 'DISABLED', 'DELETED')
const COUNTRIES: Form = (value) => typeof value === 'string' && /^([A-Z]{2})(,[A-Z]{2})*$/.test(value)
const LOCATION: Form = (value) => COUNTRIES(value) || oneOf('!RG', '!GL')(value)

const EMPTY: Shape = {}

const PACKAGE: Shape = {
  packageCode: name,
  slug: name,
  name,
  price: count,
  retailPrice: count,
  currencyCode: oneOf('USD'),
  volume: count,
  smsStatus: oneOf(0, 1, 2),
  dataType: oneOf(1, 2, 3, 4),
  unusedValidTime: count,
  duration: count,
  durationUnit: oneOf('DAY'),
  location: COUNTRIES,
  locationCode: LOCATION,
  description: text,
  activeType: oneOf(1, 2, 3),
  favorite: flag,
  speed: text,
  ipExport: text,
  supportTopUpType: oneOf(1, 2, 3),
  fupPolicy: text,
  locationNetworkList: [
    {
      locationName: name,
      locationLogo: text,
      locationCode: COUNTRIES,
      operatorList: [{ operatorName: name, networkType: text }],
    },
  ],
}

const ESIM: Shape = {
  esimTranNo: name,
  orderNo: name,
  transactionId: name,
  imsi: orNull(digitsOrText),
  iccid: digits,
  smsStatus: oneOf(0, 1, 2),
  msisdn: orNull(text),
  ac: (value) => typeof value === 'string' && /^LPA:1\$[^$]+\$[^$]+/.test(value),
  qrCodeUrl: url,
  shortUrl: url,
  smdpStatus: SMDP_STATUS,
  eid: orNull(text),
  activeType: oneOf(1, 2, 3),
  dataType: oneOf(1, 2, 3, 4),
  activateTime: orNull(time),
  expiredTime: orNull(time),
  installationTime: orNull(time),
  totalVolume: count,
  totalDuration: count,
  durationUnit: oneOf('DAY'),
  orderUsage: count,
  esimStatus: ESIM_STATUS,
  pin: orNull(text),
  puk: orNull(text),
  apn: text,
  ipExport: text,
  supportTopUpType: oneOf(1, 2, 3),
  fupPolicy: text,
  packageList: [
    {
      packageName: name,
      packageCode: name,
      slug: name,
      duration: count,
      volume: count,
      locationCode: LOCATION,
      createTime: time,
      esimTranNo: name,
      transactionId: name,
    },
  ],
}

const SHAPES = {
  'balance/query': { balance: whole, lastUpdateTime: time },
  'location/list': {
    locationList: [{ code: LOCATION, name, type: oneOf(1, 2), subLocationList: [{ code: COUNTRIES, name }] }],
  },
  'package/list': { packageList: [PACKAGE] },
  'esim/order': { orderNo: name, transactionId: name },
  'esim/query': { esimList: [ESIM], pager: { pageSize: count, pageNum: count, total: count } },
  'esim/topup': {
    transactionId: name,
    topUpEsimTranNo: name,
    iccid: digits,
    expiredTime: orNull(time),
    totalVolume: count,
    totalDuration: count,
    orderUsage: count,
  },
  'esim/cancel': EMPTY,
  'esim/suspend': EMPTY,
  'esim/unsuspend': EMPTY,
  'esim/revoke': EMPTY,
  'esim/usage/query': {
    esimUsageList: [{ esimTranNo: name, dataUsage: count, totalData: count, lastUpdateTime: orNull(time) }],
  },
  'esim/sendSms': EMPTY,
  'webhook/save': EMPTY,
  'webhook/query': { webhook: text },
} satisfies Record<string, Shape>

type Operation = keyof typeof SHAPES
const OPERATIONS = Object.keys(SHAPES) as Operation[]

function digitsOrText(value: unknown): boolean {
  return typeof value === 'string'
}

/** Lists the members that a value lacks, should not have, or has in the wrong form. Of a list, its elements are checked. */
function faultsOf(value: unknown, shape: Shape, path: string): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: no object`]
  const members = new Set([...Object.keys(shape), ...Object.keys(value)])
  return [...members].flatMap((member) => {
    const at = `${path}.${member}`
    const form = shape[member]
    const found = (value as Record<string, unknown>)[member]
    if (form === undefined) return [`${at}: not a member of the family`]
    if (!Object.hasOwn(value, member)) return [`${at}: missing`]
    if (typeof form === 'function') return form(found) ? [] : [`${at}: ${JSON.stringify(found)}`]
    if (!Array.isArray(form)) return faultsOf(found, form, at)
    if (!Array.isArray(found)) return [`${at}: no list`]
    return found.flatMap((item, index) => faultsOf(item, form[0], `${at}[${index}]`))
  })
}

let api: ApiFixture
let dealer: Dealer
let loops: { stop(deadlineMs: number): Promise<void> }[]

beforeAll(async () => {
  api = await createApiFixture()
  loops = [fulfilmentLoop(api.node.deps), actionLoop(api.node.deps)]
  const suppliers = [{ supplier: 'sandbox', productCode: 'SANDBOX_OK' }]
  const sold = { status: 'ON_SALE', prices: [{ currencyCode: 'USD', price: 90_000, retailPrice: 120_000 }], suppliers }
  const packages = [
    { packageCode: 'JP_DAY', dataType: 'DAILY', fupPolicy: '128 kbit/s', smsStatus: 1, speed: '5G' },
    { packageCode: 'JP_FREE', dataType: 'UNLIMITED', volume: null, activationPolicy: 'ON_FIRST_NETWORK' },
    { packageCode: 'JP_TOP', packageType: 'TOPUP' },
    { packageCode: 'JP_CANCEL', cancelPolicy: { cancellable: true, withinDays: null, feePercent: 0 } },
    { packageCode: 'ASIA', locationCodes: ['!RG', 'JP', 'KR'] },
    { packageCode: 'WORLD', locationCodes: ['!GL', 'JP', 'US'] },
  ]
  await putPackages(
    api.node.deps,
    packages.map((one) => packageInput({ ...sold, ...one })),
    OPERATOR,
  )
})
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop(5_000)))
  await api.close()
})
beforeEach(async () => {
  dealer = await addDealer(api.node.deps)
})

const post = (operation: string, body?: object) => familyCall(api.node.baseUrl, dealer, operation, body)

async function expectShape(operation: Operation, body?: object): Promise<FamilyAnswer> {
  const answer = await post(operation, body)
  const { status, headers, obj, ...envelope } = answer
  expect({ status, ...envelope }).toEqual({
    ...{ status: 200, success: true, errorCode: null, errorMsg: null, errorMessage: null },
  })
  expect(headers.get('content-type')).toMatch(/^application\/json/)
  expect(faultsOf(obj, SHAPES[operation], operation)).toEqual([])
  return answer
}

/** Buys one eSIM and waits for it. */
async function buy(packageCode = 'JP_1_7', transactionId = 'R-1') {
  const { obj } = await expectShape('esim/order', { transactionId, packageInfoList: [{ packageCode, count: 1 }] })
  const { orderNo } = obj
  return waitUntil(async () => {
    const answer = await post('esim/query', { orderNo })
    if (!answer.success) expect(answer.errorCode).toBe('200010')
    return answer.success && answer.obj.esimList[0]
  })
}

const inUse = (esimTranNo: string) =>
  api.node.deps.db.query({
    text: `update profiles set esim_status = 'IN_USE', smdp_status = 'ENABLED', activate_time = now(),
             expired_time = now() + interval '7 days' where profile_id = $1`,
    values: [esimTranNo],
  })

describe('the shape of the answer to', () => {
  test('balance/query', () => expectShape('balance/query'))

  test('location/list, with countries, regions and the world', async () => {
    const { obj } = await expectShape('location/list', {})
    const wide = obj.locationList.filter(({ type }: { type: number }) => type === 2)
    expect(wide.map(({ code }: { code: string }) => code)).toEqual(['!RG', '!GL'])
    expect(wide[0].subLocationList.map(({ code }: { code: string }) => code)).toEqual(['JP', 'KR'])
  })

  test('package/list, for every kind of package', async () => {
    const { obj } = await expectShape('package/list')
    const of = (code: string) =>
      obj.packageList.find(({ packageCode }: { packageCode: string }) => packageCode === code)
    expect(of('JP_1_7')).toMatchObject({ dataType: 1, location: 'JP', locationCode: 'JP' })
    expect(of('JP_DAY')).toMatchObject({ dataType: 2, smsStatus: 1, retailPrice: 120_000, fupPolicy: '128 kbit/s' })
    expect(of('JP_FREE')).toMatchObject({ dataType: 4, volume: 0, activeType: 2 })
    expect(of('ASIA')).toMatchObject({ location: 'JP,KR', locationCode: '!RG' })
    expect(of('WORLD')).toMatchObject({ location: 'JP,US', locationCode: '!GL' })
    expect(of('JP_TOP')).toBeUndefined()
    const topUps = await expectShape('package/list', { type: 'TOPUP' })
    expect(topUps.obj.packageList).toMatchObject([{ packageCode: 'JP_TOP' }])
  })

  test('esim/query and esim/usage/query, for a delivered eSIM and an eSIM in use', async () => {
    const esim = await buy()
    for (const isUsed of [false, true]) {
      if (isUsed) await inUse(esim.esimTranNo)
      for (const filter of [{ orderNo: esim.orderNo }, { iccid: esim.iccid }, { esimTranNo: esim.esimTranNo }]) {
        const { obj } = await expectShape('esim/query', { ...filter, pager: { pageNum: 1, pageSize: 5 } })
        expect(obj).toMatchObject({ esimList: [{ orderUsage: 0 }], pager: { pageNum: 1, pageSize: 5, total: 1 } })
      }
      await expectShape('esim/usage/query', { esimTranNoList: [esim.esimTranNo] })
    }
  })

  test('esim/topup', async () => {
    const esim = await buy()
    await inUse(esim.esimTranNo)
    const list = await expectShape('package/list', { type: 'TOPUP', iccid: esim.iccid })
    expect(list.obj.packageList).toMatchObject([{ packageCode: 'JP_TOP' }])
    const topUp = { esimTranNo: esim.esimTranNo, packageCode: 'JP_TOP', transactionId: 'R-2', amount: 0 }
    expect((await expectShape('esim/topup', topUp)).obj).toMatchObject({ transactionId: 'R-2', iccid: esim.iccid })
  })

  test('esim/cancel, suspend, unsuspend and revoke', async () => {
    const unused = await buy('JP_CANCEL')
    const used = await buy('JP_1_7', 'R-3')
    await expectShape('esim/cancel', { iccid: '', esimTranNo: unused.esimTranNo })
    await inUse(used.esimTranNo)
    await expectShape('esim/suspend', { iccid: used.iccid })
    await expectShape('esim/unsuspend', { iccid: used.iccid })
    await expectShape('esim/revoke', { esimTranNo: used.esimTranNo, iccid: null })
  })

  test('webhook/save and webhook/query', async () => {
    const receiver = await startFamilyReceiver(api.node.baseUrl, dealer)
    await expectShape('webhook/query')
    await expectShape('webhook/save', { webhook: receiver.url })
    await expectShape('webhook/query', { webhook: null })
    await receiver.close()
  })
})

describe('a failure', () => {
  test('has both message texts, an empty obj and HTTP status 200', async () => {
    for (const operation of OPERATIONS) {
      const response = await fetch(`${api.node.baseUrl}/api/v1/open/${operation}`, { method: 'POST' })
      const { errorMsg, ...rest } = (await response.json()) as FamilyAnswer
      expect([operation, response.status, rest]).toEqual([
        ...[operation, 200],
        { success: false, errorCode: '000101', errorMessage: errorMsg, obj: {} },
      ])
      expect(errorMsg).toMatch(/\w/)
    }
  })
})

describe('bodies that RT family programs send and the dealer API refuses', () => {
  const READS = ['balance/query', 'location/list', 'package/list', 'webhook/query'] as const
  const raw = async (path: string, text: string, contentType?: string) => {
    const signed = familyHeaders(dealer, text)
    const headers = {
      ...signed,
      'X-Signature': signed['RT-Signature']!,
      ...(contentType !== undefined && { 'Content-Type': contentType }),
    }
    // fetch sets no Content-Type for bytes.
    const body = text === '' ? null : Buffer.from(text)
    const response = await fetch(`${api.node.baseUrl}${path}`, { method: 'POST', headers, body })
    return (await response.json()) as { success?: boolean; errorCode?: string; code?: string }
  }

  test.each(READS)('%s accepts missing, empty and null members as well as unknown members', async (operation) => {
    for (const text of ['', '{}', '{"packageCode":null,"slug":""}', '{"unknown":{"more":[null,""]}}']) {
      expect(await raw(`/api/v1/open/${operation}`, text), text).toMatchObject({ success: true })
    }
    expect(await raw(`/api/v1/open/${operation}`, '{}', 'application/json; charset=utf-8')).toMatchObject({
      success: true,
    })
  })

  test.each([
    ['[]', '000104'],
    ['null', '000104'],
    ['{', '000104'],
    ['{"a":1,"a":2}', '000104'],
    ['{"notifyType":"ORDER_STATUS"}', '200008'],
  ])('%s is refused by the RT API as well', async (text, code) => {
    expect(await raw('/api/v1/open/balance/query', text)).toMatchObject({ success: false, errorCode: code })
  })

  test.each([
    ['', '000104'],
    ['{"unknown":1}', '000108'],
    ['{"packageCode":""}', '000107'],
    ['{"notifyType":"ORDER_STATUS"}', '000108'],
  ])('the dealer API still refuses “%s”', async (text, code) => {
    expect(await raw('/open-api/v1/package/list', text, 'application/json')).toMatchObject({ code })
  })

  test('the dealer API still refuses a missing Content-Type', async () => {
    expect(await raw('/open-api/v1/health', '{}')).toMatchObject({ code: '000110' })
  })

  test('null and an empty text mean absent, and 0 means no guard only in an order', async () => {
    const line = { packageCode: 'JP_1_7', slug: '', count: 1, price: 0, periodNum: null }
    await expectShape('esim/order', { transactionId: 'N-1', amount: 0, packageInfoList: [line] })
    const refused = async (parts: object) => {
      return (await post('esim/order', { transactionId: 'N-2', packageInfoList: [{ ...line, ...parts }] })).errorCode
    }
    expect([await refused({ count: 0 }), await refused({ count: null }), await refused({ price: 1 })]).toEqual([
      ...['200008', '000105', '200005'],
    ])
    expect((await post('esim/query', { orderNo: 'X', pager: { pageNum: 0 } })).errorCode).toBe('200008')
  })
})
