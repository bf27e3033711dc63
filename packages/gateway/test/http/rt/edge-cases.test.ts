import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { encryptEsimSecrets } from '#esims/profile-secrets.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { GB } from '#test/orders/topups/topup-testbed.ts'
import { familyHeaders } from './family-program.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

const PRICE = 45_000

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
  const sold = { status: 'ON_SALE', prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }] }
  const packages = [
    { ...sold, packageCode: 'TH_1_7', slug: 'thailand-1' },
    { ...sold, packageCode: 'JP_2_7_TOPUP', slug: 'japan-more', packageType: 'TOPUP' },
  ]
  await putPackages(bed.node.deps, packages.map(packageInput), OPERATOR)
})
afterAll(() => bed.close())

const line = (count: unknown, packageCode = 'JP_1_7') => ({ packageCode, count })
const topUpBody = (esimTranNo: string) => ({ esimTranNo, packageCode: 'JP_1_7_TOPUP' })
const setIccid = (esimTranNo: string, iccid: string) =>
  bed.node.deps.db.query({ text: 'update profiles set iccid = $2 where profile_id = $1', values: [esimTranNo, iccid] })

describe('an order', () => {
  test('is refused if any line has a count below 1, even if the total count is positive', async () => {
    const before = await bed.balance()
    for (const counts of [
      [5, -4],
      [-4, 5],
      [1, 0],
      [2 ** 53, 1 - 2 ** 53],
    ]) {
      const packageInfoList = counts.map((count) => line(count))
      expect([counts, await bed.codeOf('esim/order', { packageInfoList })]).toEqual([counts, '200008'])
    }
    expect(await bed.balance()).toBe(before)
  })

  test('without lines, or with lines of the wrong type, is refused', async () => {
    const codes = []
    for (const packageInfoList of [[], {}, 'JP_1_7', [null], [[]], ['JP_1_7'], [{}], [line('x')], [line(1.5)]]) {
      codes.push(await bed.codeOf('esim/order', { packageInfoList }))
    }
    expect(codes).toEqual([...Array(3).fill('200008'), '000106', '000105', '200008', '000105', '200008', '200008'])
  })

  test('with more lines than the limit is refused before any line is looked up', async () => {
    const packageInfoList = Array.from({ length: 10_000 }, () => ({ slug: 's', count: 1 }))
    const { errorCode, errorMsg } = await bed.post('esim/order', { packageInfoList })
    expect([errorCode, errorMsg]).toEqual(['200008', 'packageInfoList: send at most 100 lines.'])
  })
})

describe('a top-up without a transactionId', () => {
  test('can be repeated without another purchase if its answer could not be built', async () => {
    const { esimTranNo } = await bed.delivered()
    const before = await bed.balance()
    const swap = 'update profiles set secrets = $2 where profile_id = $1'
    const { db } = bed.node.deps
    const [{ secrets }] = (await db.query<{ secrets: Buffer }>({
      text: 'select secrets from profiles where profile_id = $1',
      values: [esimTranNo],
    })) as [{ secrets: Buffer }]
    bed.supplier.topUp = async () => {
      await db.query({ text: swap, values: [esimTranNo, Buffer.from('unreadable')] })
      return { kind: 'toppedUp' }
    }
    expect(await bed.codeOf('esim/topup', topUpBody(esimTranNo))).toBe('000001')
    bed.supplier.topUp = () => ({ kind: 'toppedUp' })
    await db.query({ text: swap, values: [esimTranNo, secrets] })
    const { errorCode, obj } = await bed.post('esim/topup', topUpBody(esimTranNo))
    expect([errorCode, obj.totalVolume]).toEqual([null, 2 * GB])
    expect(await bed.balance()).toBe(before - PRICE)
  })
})

describe('an action', () => {
  test('is refused if its body belongs to a different action', async () => {
    const { esimTranNo } = await bed.cancellable()
    const calls = bed.actions.calls.length
    for (const action of ['SUSPEND', 'CANCEL', 'suspend', 1]) {
      const body = { transactionId: 'captured', action, esimTranNo }
      expect([action, await bed.codeOf('esim/revoke', body)]).toEqual([action, '200008'])
    }
    expect(bed.actions.calls.length).toBe(calls)
    expect(await bed.codeOf('esim/revoke', { action: 'REVOKE', esimTranNo })).toBe(null)
  })
})

describe('package/list', () => {
  test('accepts a slug in place of a packageCode', async () => {
    const codesOf = async (body: object) => {
      const { obj } = await bed.post('package/list', body)
      return obj.packageList.map(({ packageCode }: { packageCode: string }) => packageCode)
    }
    expect(await codesOf({ packageCode: 'TH_1_7' })).toEqual(['TH_1_7'])
    expect(await codesOf({ packageCode: 'thailand-1' })).toEqual(['TH_1_7'])
    expect(await codesOf({ packageCode: 'japan-more', type: 'TOPUP' })).toEqual(['JP_2_7_TOPUP'])
    const { iccid } = await bed.delivered()
    expect(await codesOf({ packageCode: 'japan-more', iccid })).toEqual(['JP_2_7_TOPUP'])
    expect(await codesOf({ packageCode: 'japan-more' })).toEqual([])
    expect(await codesOf({ packageCode: 'nothing' })).toEqual([])
  })
})

describe('esim/query', () => {
  test('lists the newest eSIM first if several eSIMs have had the ICCID', async () => {
    const dealer = await addDealer(bed.node.deps)
    const esims = []
    for (let count = 0; count < 3; count++) esims.push(await bed.delivered('JP_1_7', dealer))
    const iccid = '8985200000000000001'
    for (const { esimTranNo } of esims) await setIccid(esimTranNo, iccid)
    const numbers = esims.map(({ esimTranNo }) => esimTranNo).toReversed()
    const found = []
    for (const pageNum of [1, 2, 3, 4]) {
      const { obj } = await bed.post('esim/query', { iccid: `${iccid}F`, pager: { pageNum, pageSize: 1 } }, {}, dealer)
      expect(obj.pager).toEqual({ pageNum, pageSize: 1, total: 3 })
      found.push(...obj.esimList.map(({ esimTranNo }: { esimTranNo: string }) => esimTranNo))
    }
    expect(found).toEqual(numbers)
    expect(await bed.codeOf('esim/revoke', { iccid }, {}, dealer)).toBe(null)
    const { obj } = await bed.post('esim/query', { iccid }, {}, dealer)
    expect(obj.esimList.map(({ esimStatus }: { esimStatus: string }) => esimStatus)).toEqual([
      ...['REVOKED', 'GOT_RESOURCE', 'GOT_RESOURCE'],
    ])
  })

  test('accepts an esimTranNo in upper case, alone or together with its order', async () => {
    const { esimTranNo, orderNo } = await bed.delivered()
    for (const filter of [{}, { orderNo }]) {
      const { obj } = await bed.post('esim/query', { ...filter, esimTranNo: esimTranNo.toUpperCase() })
      expect(obj.esimList).toMatchObject([{ esimTranNo }])
    }
  })

  test('refuses a malformed pager and malformed times', async () => {
    const iccid = '8985200000000000002'
    for (const pager of ['1', 1, [], [1], true, { pageNum: '1' }, { pageSize: 501 }, { pageNum: 1.5 }]) {
      expect([pager, await bed.codeOf('esim/query', { iccid, pager })]).toEqual([pager, '200008'])
    }
    for (const pager of [null, '', {}, { pageNum: null, pageSize: '' }, { pageSize: 1 }]) {
      expect([pager, await bed.codeOf('esim/query', { iccid, pager })]).toEqual([pager, null])
    }
    for (const startTime of ['2026-02-31T00:00:00Z', '2026-01-01T24:00:01Z', '2026-01-01', 0, '2026-01-01T00:00:00']) {
      expect([startTime, await bed.codeOf('esim/query', { startTime })]).toEqual([startTime, '200008'])
    }
  })

  test('accepts times in any time zone, even before 1970', async () => {
    const dealer = await addDealer(bed.node.deps)
    const { esimTranNo } = await bed.delivered('JP_1_7', dealer)
    const total = async (filter: object) => (await bed.post('esim/query', filter, {}, dealer)).obj.pager?.total
    expect(await total({ startTime: '1970-01-01T00:00:00+0800' })).toBe(1)
    expect(await total({ startTime: '0001-01-01T00:00:00Z', endTime: '9999-12-31T23:59:59Z' })).toBe(1)
    expect(await total({ endTime: '1969-12-31T23:59:59Z' })).toBe(0)
    const hour = 3_600_000
    const inTokyo = (timeMs: number) => `${new Date(timeMs + 9 * hour).toISOString().slice(0, 19)}+0900`
    expect(await total({ startTime: inTokyo(Date.now() - hour), endTime: inTokyo(Date.now() + hour) })).toBe(1)
    expect(await total({ startTime: inTokyo(Date.now() + hour) })).toBe(0)
    expect(await total({ esimTranNo, startTime: inTokyo(Date.now() + hour) })).toBe(0)
  })

  test('finds dealer API orders, and no separate eSIM for a top-up', async () => {
    const esim = await bed.delivered()
    const { data } = await bed.topUp(esim)
    const { obj } = await waitUntil(async () => {
      const answer = await bed.post('esim/query', { orderNo: data.orderNo })
      return answer.success && answer
    })
    expect(obj).toEqual({ esimList: [], pager: { pageNum: 1, pageSize: 500, total: 0 } })
    expect((await bed.post('esim/query', { orderNo: esim.orderNo })).obj.esimList).toMatchObject([
      { esimTranNo: esim.esimTranNo, totalVolume: 2 * GB },
    ])
  })
})

test('an answer has a confirmation code member only if the eSIM has a confirmation code', async () => {
  const { esimTranNo, iccid } = await bed.delivered()
  const read = async () => (await bed.post('esim/query', { esimTranNo })).obj.esimList[0]
  expect(await read()).not.toHaveProperty('confirmationCode')
  const { cipher, db } = bed.node.deps
  const { tenantId } = bed.dealer
  const esim = { iccid, smdpAddress: 'smdp.example.com', matchingId: 'M', confirmationCode: '4711' }
  const values = [tenantId, esimTranNo, encryptEsimSecrets(cipher, tenantId, esim)]
  await db.query({ text: 'update profiles set secrets = $3 where tenant_id = $1 and profile_id = $2', values })
  expect(await read()).toMatchObject({ ac: 'LPA:1$smdp.example.com$M$$1', confirmationCode: '4711' })
})

test('esim/usage/query refuses a list that is empty, too long or of the wrong type, and skips unknown eSIMs', async () => {
  const { esimTranNo } = await bed.delivered()
  const codes = []
  for (const esimTranNoList of [undefined, [], 'x', [1], Array(101).fill('x')]) {
    codes.push(await bed.codeOf('esim/usage/query', { esimTranNoList }))
  }
  expect(codes).toEqual(['000105', '200008', '200008', '200008', '200008'])
  const { obj } = await bed.post('esim/usage/query', { esimTranNoList: ['x', esimTranNo, esimTranNo] })
  expect(obj.esimUsageList).toEqual([{ esimTranNo, dataUsage: 0, totalData: GB, lastUpdateTime: null }])
})

describe('esim/sendSms', () => {
  const message = 'Welcome'

  test('sends one SMS through the supplier of the eSIM, by its number or ICCID', async () => {
    const esims = [await bed.delivered(), await bed.delivered()]
    const sent: unknown[] = []
    bed.supplier.itself.sendSms = async ({ iccid }, text) => {
      sent.push([iccid, text])
      return { kind: 'done' }
    }
    const requests = [{ esimTranNo: esims[0]!.esimTranNo }, { iccid: `${esims[1]!.iccid}F`, esimTranNo: '' }]
    for (const esim of requests) expect(await bed.codeOf('esim/sendSms', { ...esim, message })).toBeNull()
    expect(sent).toEqual(esims.map(({ iccid }) => [iccid, message]))
  })

  test('says whether an SMS that failed was sent, and never repeats it', async () => {
    const { esimTranNo } = await bed.delivered()
    let calls = 0
    const answers = [
      async () => ({ kind: 'refused', message: 'a text of the supplier' }) as const,
      async () => ({ kind: 'unknown', message: 'no answer' }) as const,
      async () => Promise.reject(new Error('a fault')),
    ]
    bed.supplier.itself.sendSms = () => answers[calls++]!()
    for (const [code, text] of [
      ['200002', 'Nothing was sent'],
      ['000001', 'did not say'],
      ['000001', 'did not say'],
    ]) {
      const { errorCode, errorMsg } = await bed.post('esim/sendSms', { esimTranNo, message })
      expect([errorCode, errorMsg]).toEqual([code, expect.stringContaining(text!)])
      expect(errorMsg).not.toContain('a text of the supplier')
    }
    expect(calls).toBe(answers.length)
  })

  test('is refused if the supplier cannot send SMS, or the eSIM has ended', async () => {
    const [esim, ended] = [await bed.delivered(), await bed.delivered()]
    bed.supplier.itself.sendSms = async () => ({ kind: 'done' })
    await bed.set(ended, `esim_status = 'REVOKED'`)
    expect(await bed.codeOf('esim/sendSms', { esimTranNo: ended.esimTranNo, message })).toBe('200002')
    delete bed.supplier.itself.sendSms
    const { errorCode, errorMsg } = await bed.post('esim/sendSms', { esimTranNo: esim.esimTranNo, message })
    expect([errorCode, errorMsg]).toEqual(['200002', expect.stringContaining('cannot send SMS')])
  })

  test('is refused if the request is faulty, or the eSIM belongs to another dealer', async () => {
    const { iccid } = await bed.delivered()
    const codes = []
    for (const body of [
      { message },
      { iccid },
      { iccid, message: 7 },
      { iccid, message: 'x'.repeat(501) },
      { iccid: 'x', message },
    ]) {
      codes.push(await bed.codeOf('esim/sendSms', body))
    }
    expect(codes).toEqual(['000105', '000105', '200008', '000107', '310403'])
    const other = await addDealer(bed.node.deps)
    expect(await bed.codeOf('esim/sendSms', { iccid, message }, {}, other)).toBe('310403')
  })
})

/*
 * Requests as public programs of the RT family send them: headers, Content-Type and the bytes of the body, as recorded,
 * with our package codes and numbers.
 */

interface Reply {
  success: boolean
  errorCode: string | null
  errorMsg: string | null
  // biome-ignore lint/suspicious/noExplicitAny: tests check the members of any answer
  obj: any
}

async function raw(
  operation: string,
  text: string,
  headers: Record<string, string> = {},
  of = bed.dealer,
): Promise<Reply> {
  const response = await fetch(`${bed.node.baseUrl}/api/v1/open/${operation}`, {
    method: 'POST',
    headers: { ...familyHeaders(of, text), ...headers },
    body: text === '' ? null : Buffer.from(text), // fetch sets no Content-Type for bytes
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Reply
}
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

describe('a body with the form Content-Type that curl sends by default', () => {
  test('counts as {} if it is empty', async () => {
    for (const type of [FORM, { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' }]) {
      expect(await raw('balance/query', '', type)).toMatchObject({ success: true })
      expect(await raw('package/list', '', type)).toMatchObject({ success: true })
    }
  })

  test('is parsed as JSON', async () => {
    const listed = await raw('package/list', '{"locationCode":"","type":"","packageCode":"JP_1_7"}', FORM)
    expect(listed.obj.packageList).toMatchObject([{ packageCode: 'JP_1_7' }])
    const order = '{"transactionId":"curl-1","packageInfoList":[{"packageCode":"JP_1_7","count":1}]}'
    expect(await raw('esim/order', order, FORM)).toMatchObject({ success: true, obj: { transactionId: 'curl-1' } })
  })

  test('is refused with 000104 if it really is a form', async () => {
    expect(await raw('package/list', 'locationCode=JP&type=BASE', FORM)).toMatchObject({ errorCode: '000104' })
    for (const type of ['text/plain', 'multipart/form-data', 'application/x-www-form', 'application/xml']) {
      expect((await raw('balance/query', '{}', { 'Content-Type': type })).errorCode).toBe('000102')
    }
  })
})

describe('esim/query as real programs call it', () => {
  const query = (body: object, of = bed.dealer) => bed.post('esim/query', body, {}, of)

  test('with a pager and no filter lists all eSIMs, page by page', async () => {
    const owner = await addDealer(bed.node.deps)
    const esims = []
    for (let count = 0; count < 3; count++) esims.push(await bed.delivered('JP_1_7', owner))
    const found: string[] = []
    for (const pageNum of [1, 2]) {
      const { success, obj } = await query({ orderNo: '', iccid: '', pager: { pageNum, pageSize: 2 } }, owner)
      expect([success, obj.pager]).toEqual([true, { pageNum, pageSize: 2, total: 3 }])
      found.push(...obj.esimList.map(({ esimTranNo }: { esimTranNo: string }) => esimTranNo))
    }
    expect(found).toEqual(esims.map(({ esimTranNo }) => esimTranNo).sort())
    const none = await addDealer(bed.node.deps)
    expect((await query({ pager: { pageNum: 1, pageSize: 50 } }, none)).obj).toEqual({
      ...{ esimList: [], pager: { pageNum: 1, pageSize: 50, total: 0 } },
    })
  })

  test('with neither a filter nor a pager is refused with a hint on what to send', async () => {
    for (const body of [undefined, {}, { pager: null }, { orderNo: '', pager: '' }]) {
      const { errorCode, errorMsg } = await bed.post('esim/query', body)
      expect([body, errorCode]).toEqual([body, '000105'])
      expect(errorMsg).toContain('transactionId')
    }
  })

  test('without a filter is refused with 200008 above 10 000 eSIMs', async () => {
    const owner = await addDealer(bed.node.deps)
    const { esimTranNo } = await bed.delivered('JP_1_7', owner)
    const copies = (table: string, members: string) =>
      bed.node.deps.db.query({
        text: `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object('item_no', n + 1 ${members}))).*
               from ${table} t, generate_series(1, 10000) n where t.tenant_id = $1`,
        values: [owner.tenantId],
      })
    await copies('order_items', '')
    await copies('profiles', `, 'profile_id', md5(n::text)::uuid, 'iccid', '8985' || n`)
    const { errorCode, errorMsg } = await query({ pager: { pageNum: 1, pageSize: 50 } }, owner)
    expect([errorCode, errorMsg]).toEqual(['200008', expect.stringContaining('10000')])
    expect((await query({ esimTranNo, pager: { pageNum: 1, pageSize: 50 } }, owner)).obj.pager.total).toBe(1)
  })

  test.each(['P-1001', 'Café №7/é', 'x'.repeat(90)])('by the transactionId “%s” alone finds its order', async (id) => {
    const order = { transactionId: id, packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] }
    const { orderNo } = (await bed.post('esim/order', order)).obj
    const body = { orderNo: '', transactionId: id, iccid: '', esimTranNo: '', startTime: '', endTime: '' }
    await expect.poll(async () => (await query(body)).errorCode).toBeNull()
    const { obj } = await query({ ...body, pager: { pageNum: 1, pageSize: 50 } })
    expect(obj.pager.total).toBe(2)
    expect(obj.esimList).toMatchObject(Array(2).fill({ orderNo, transactionId: id }))
    const [{ iccid }] = obj.esimList
    expect((await query({ transactionId: id, iccid })).obj.pager.total).toBe(1)
    expect((await query({ transactionId: id, orderNo })).obj.pager.total).toBe(2)
  })

  test('by a transactionId that is unknown, or belongs to another dealer or order, is refused with 310272', async () => {
    const order = { transactionId: 'Q-OWN', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
    expect((await bed.post('esim/order', order)).success).toBe(true)
    const { orderNo } = await bed.delivered()
    const other = await addDealer(bed.node.deps)
    const codes = [
      (await query({ transactionId: 'Q-UNKNOWN' })).errorCode,
      (await query({ transactionId: 'Q-OWN' }, other)).errorCode,
      (await query({ transactionId: 'Q-OWN', orderNo })).errorCode,
      (await query({ transactionId: 7 })).errorCode,
      (await query({ transactionId: 'x'.repeat(1_001) })).errorCode,
    ]
    expect(codes).toEqual(['310272', '310272', '310272', '200008', '000107'])
  })
})
