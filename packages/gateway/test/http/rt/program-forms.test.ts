import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addDealer, type Dealer } from '#test/harness/api-node.ts'
import { familyHeaders } from './family-program.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

/*
 * Requests in the forms in which public programs of the family send them: headers, Content-Type and the bytes of the body, as
 * recorded, with our package codes and numbers.
 */

let bed: RtTestbed
let dealer: Dealer
beforeAll(async () => {
  bed = await createRtTestbed()
  dealer = bed.dealer
})
afterAll(() => bed.close())

interface Reply {
  success: boolean
  errorCode: string | null
  errorMsg: string | null
  // biome-ignore lint/suspicious/noExplicitAny: tests check the members of any answer
  obj: any
}

async function raw(operation: string, text: string, headers: Record<string, string> = {}, of = dealer): Promise<Reply> {
  const response = await fetch(`${bed.node.baseUrl}/api/v1/open/${operation}`, {
    method: 'POST',
    headers: { ...familyHeaders(of, text), ...headers },
    body: text === '' ? null : Buffer.from(text), // bytes have no Content-Type of their own
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Reply
}
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

describe('a body under the Content-Type of a form, which curl sends by itself,', () => {
  test('is {} if it is empty', async () => {
    for (const type of [FORM, { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' }]) {
      expect(await raw('balance/query', '', type)).toMatchObject({ success: true })
      expect(await raw('package/list', '', type)).toMatchObject({ success: true })
    }
  })

  test('is read as JSON', async () => {
    const listed = await raw('package/list', '{"locationCode":"","type":"","packageCode":"JP_1_7"}', FORM)
    expect(listed.obj.packageList).toMatchObject([{ packageCode: 'JP_1_7' }])
    const order = '{"transactionId":"curl-1","packageInfoList":[{"packageCode":"JP_1_7","count":1}]}'
    expect(await raw('esim/order', order, FORM)).toMatchObject({ success: true, obj: { transactionId: 'curl-1' } })
  })

  test('is 000104 if it is a form after all, and other media types stay refused', async () => {
    expect(await raw('package/list', 'locationCode=JP&type=BASE', FORM)).toMatchObject({ errorCode: '000104' })
    for (const type of ['text/plain', 'multipart/form-data', 'application/x-www-form', 'application/xml']) {
      expect((await raw('balance/query', '{}', { 'Content-Type': type })).errorCode).toBe('000102')
    }
  })
})

describe('esim/query', () => {
  const query = (body: object, of = dealer) => bed.post('esim/query', body, {}, of)

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

  test('with neither a filter nor a pager says what to send', async () => {
    for (const body of [undefined, {}, { pager: null }, { orderNo: '', pager: '' }]) {
      const { errorCode, errorMsg } = await bed.post('esim/query', body)
      expect([body, errorCode]).toEqual([body, '000105'])
      expect(errorMsg).toContain('transactionId')
    }
  })

  test('without a filter is 200008 above 10 000 eSIMs, because it would not be complete', async () => {
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
    await expect.poll(async () => (await query(body)).errorCode, { timeout: 10_000 }).toBeNull()
    const { obj } = await query({ ...body, pager: { pageNum: 1, pageSize: 50 } })
    expect(obj.pager.total).toBe(2)
    expect(obj.esimList).toMatchObject(Array(2).fill({ orderNo, transactionId: id }))
    const [{ iccid }] = obj.esimList
    expect((await query({ transactionId: id, iccid })).obj.pager.total).toBe(1)
    expect((await query({ transactionId: id, orderNo })).obj.pager.total).toBe(2)
  })

  test('by a transactionId that is unknown, of another dealer or of another order is 310272', async () => {
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
