import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putPackages, setOnSale } from '#catalogue/packages/put-packages.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { DAY_PRICE, GB, PRICE } from '#test/orders/topups/topup-testbed.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

/*
 * How the family's programs top up: they give the package that was bought, by its code or slug, or only the days; they
 * write numbers as text; and they show only packages that have the supportTopUpType that they expect.
 */

let bed: RtTestbed
beforeAll(async () => {
  bed = await createRtTestbed()
  const one = (packageCode: string, slug: string, members: object = {}) =>
    packageInput({
      ...{ packageCode, slug, status: 'ON_SALE', prices: [{ currencyCode: 'USD', price: PRICE, retailPrice: null }] },
      ...members,
    })
  const topUp = { packageType: 'TOPUP' }
  const three = { volume: 3 * GB, duration: 30 }
  const pass = { dataType: 'DAILY', duration: 1, volume: GB / 2, periodNumMax: 30 }
  const packages = [
    one('JP_3_30', 'japan-3gb-30d', three),
    one('JP_3_30_TOPUP', 'japan-3gb-30d-more', { ...three, ...topUp }),
    one('FR_1_7', 'france-1gb-7d', { locationCodes: ['FR'] }),
    one('FR_1_7_TOPUP', 'france-1gb-7d-more', { locationCodes: ['FR'], ...topUp }),
    one('JP_9_9', 'japan-9gb-9d', { volume: 9 * GB, duration: 9 }),
    one('TH_PASS', 'thailand-days', { ...pass, periodNumMin: 1, locationCodes: ['TH'] }),
    one('TH_PASS_TOPUP', 'thailand-days-more', { ...pass, ...topUp, periodNumMin: 1, locationCodes: ['TH'] }),
    one('TH_PASS_LARGE_TOPUP', 'thailand-large', {
      ...pass,
      ...topUp,
      volume: GB,
      periodNumMin: 1,
      locationCodes: ['TH'],
    }),
    one('VN_PASS', 'vietnam-days', { ...pass, periodNumMin: 1, locationCodes: ['VN'] }),
    one('VN_FIXED_TOPUP', 'vietnam-7d', { ...pass, ...topUp, periodNumMax: null, duration: 7, locationCodes: ['VN'] }),
    one('KR_ONLY', 'korea', { locationCodes: ['KR'] }),
  ]
  await putPackages(bed.node.deps, packages, OPERATOR)
  await setOnSale(bed.node.deps, { packageCodes: ['JP_HUGE_TOPUP', 'JP_GONE_TOPUP', 'FR_TOPUP'] }, false, OPERATOR)
})
afterAll(() => bed.close())

const listed = async (body: object): Promise<string[]> => {
  const { success, obj } = await bed.post('package/list', body)
  expect([body, success]).toEqual([body, true])
  return obj.packageList.map(({ packageCode }: { packageCode: string }) => packageCode).sort()
}

/** The package of the eSIM's latest top-up, and the days that were bought. */
async function toppedUpBy(esimTranNo: string): Promise<{ packageCode: string; periodNum?: number }> {
  const [row] = await bed.node.deps.db.query<{ line: { packageCode: string; periodNum?: number } }>({
    text: `select package_lines -> 0 as line from orders where topped_up_profile_id = $1
           order by wallet_version desc limit 1`,
    values: [esimTranNo],
  })
  return row!.line
}

describe('package/list with type TOPUP', () => {
  const JAPAN = ['JP_1_7_TOPUP', 'JP_3_30_TOPUP']

  test('accepts the BASE package to be topped up, by code and by slug, in either member', async () => {
    for (const name of [{ packageCode: 'JP_3_30' }, { slug: 'japan-3gb-30d' }, { packageCode: 'japan-3gb-30d' }]) {
      expect(await listed({ type: 'TOPUP', iccid: '', locationCode: '', ...name })).toEqual(JAPAN)
    }
    expect(await listed({ type: 'TOPUP', packageCode: 'JP_3_30', slug: 'japan-3gb-30d' })).toEqual(JAPAN)
    expect(await listed({ type: 'TOPUP', packageCode: 'FR_1_7' })).toEqual(['FR_1_7_TOPUP'])
    expect(await listed({ type: 'TOPUP', packageCode: 'KR_ONLY' })).toEqual([])
  })

  test('accepts a BASE package that is off sale, because its eSIMs can still be topped up', async () => {
    await setOnSale(bed.node.deps, { packageCodes: ['FR_1_7'] }, false, OPERATOR)
    expect(await listed({ type: 'TOPUP', slug: 'france-1gb-7d' })).toEqual(['FR_1_7_TOPUP'])
    await setOnSale(bed.node.deps, { packageCodes: ['FR_1_7'] }, true, OPERATOR)
  })

  test('also accepts a TOPUP package by its own code and slug', async () => {
    for (const name of [{ packageCode: 'JP_3_30_TOPUP' }, { slug: 'japan-3gb-30d-more' }]) {
      expect(await listed({ type: 'TOPUP', ...name })).toEqual(['JP_3_30_TOPUP'])
    }
    expect(await listed({ type: 'TOPUP', packageCode: 'JP_3_30', slug: 'japan-3gb-30d-more' })).toEqual([
      'JP_3_30_TOPUP',
    ])
    expect(await listed({ type: 'TOPUP', packageCode: 'NOTHING' })).toEqual([])
    expect(await listed({ packageCode: 'JP_3_30' })).toEqual(['JP_3_30'])
  })

  test('accepts an esimTranNo in the same way as an iccid', async () => {
    const { esimTranNo, iccid } = await bed.delivered()
    for (const esim of [{ esimTranNo }, { iccid }, { esimTranNo, iccid }, { iccid, packageCode: 'JP_1_7' }]) {
      expect(await listed(esim)).toEqual(JAPAN)
      expect(await listed({ type: 'TOPUP', ...esim })).toEqual(JAPAN)
    }
    expect(await listed({ esimTranNo, packageCode: 'JP_3_30_TOPUP' })).toEqual(['JP_3_30_TOPUP'])
    const other = await addDealer(bed.node.deps)
    expect(await bed.codeOf('package/list', { esimTranNo }, {}, other)).toBe('310403')
    expect(await bed.codeOf('package/list', { esimTranNo: 'x' })).toBe('310403')
  })

  test('has a separate ETag for each BASE package and data type, and none for an eSIM', async () => {
    const etagOf = async (body: object) => (await bed.post('package/list', body)).headers.get('etag')
    const { esimTranNo } = await bed.delivered()
    const bodies = [{}, { packageCode: 'JP_3_30' }, { packageCode: 'FR_1_7' }, { dataType: 1 }]
    const etags = await Promise.all(bodies.map((body) => etagOf({ type: 'TOPUP', ...body })))
    expect(new Set([...etags, await etagOf({})]).size).toBe(5)
    expect(etags).not.toContain(null)
    expect(await etagOf({ esimTranNo })).toBeNull()
  })
})

describe('package/list', () => {
  test('accepts a data type, even as text, and ignores paging', async () => {
    const all = await listed({ pageNum: 2, pageSize: 1, pager: { pageNum: 9, pageSize: 5 } })
    expect(all).toEqual(await listed({}))
    const cutOff = ['JP_DAY', 'JP_DAY_1', 'TH_PASS', 'VN_PASS']
    expect(await listed({ dataType: 3 })).toEqual(cutOff)
    expect(await listed({ dataType: '1' })).toEqual(all.filter((code) => !cutOff.includes(code)))
    expect(await listed({ dataType: 2 })).toEqual([])
    expect(await listed({ dataType: null })).toEqual(all)
    for (const dataType of [0, 5, 'TOTAL', [1]]) {
      expect([dataType, await bed.codeOf('package/list', { dataType })]).toEqual([dataType, '200008'])
    }
  })

  test('shows how a package can be topped up: 1 not at all, 2 with a package, 3 with days', async () => {
    const typesOf = async (type: string) => {
      const { obj } = await bed.post('package/list', { type })
      const rows = obj.packageList as { packageCode: string; supportTopUpType: number }[]
      return Object.fromEntries(rows.map(({ packageCode, supportTopUpType }) => [packageCode, supportTopUpType]))
    }
    expect(await typesOf('BASE')).toMatchObject({
      JP_1_7: 2,
      JP_3_30: 2,
      KR_ONLY: 1,
      TH_PASS: 3,
      VN_PASS: 2,
      JP_DAY: 3,
    })
    expect(await typesOf('TOPUP')).toMatchObject({ JP_1_7_TOPUP: 2, JP_3_30_TOPUP: 2, TH_PASS_TOPUP: 3 })
  })

  test('agrees with esim/query on how a package can be topped up', async () => {
    for (const [packageCode, type] of [
      ['JP_1_7', 2],
      ['KR_ONLY', 1],
      ['TH_PASS', 3],
    ] as const) {
      const { orderNo } = await bed.delivered(packageCode)
      const { obj } = await bed.post('esim/query', { orderNo })
      expect([packageCode, obj.esimList[0].supportTopUpType]).toEqual([packageCode, type])
    }
  })
})

describe('esim/topup', () => {
  test.each([
    ['the code of the eSIM’s own package', { packageCode: 'JP_1_7' }, 'JP_1_7_TOPUP'],
    ['the slug of another package, as packageCode', { packageCode: 'japan-3gb-30d' }, 'JP_3_30_TOPUP'],
    ['the slug of another package', { slug: 'japan-3gb-30d', packageCode: '' }, 'JP_3_30_TOPUP'],
    ['the slug of a TOPUP package', { slug: 'japan-3gb-30d-more' }, 'JP_3_30_TOPUP'],
  ])('accepts %s to select the top-up package', async (_, name, packageCode) => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    const { success, obj } = await bed.post('esim/topup', { esimTranNo: esim.esimTranNo, ...name, amount: PRICE })
    expect([success, obj.topUpEsimTranNo, obj.iccid]).toEqual([true, esim.esimTranNo, esim.iccid])
    expect(await toppedUpBy(esim.esimTranNo)).toMatchObject({ packageCode })
    expect(await bed.balance()).toBe(before - PRICE)
  })

  test('refuses a BASE package without a fitting top-up, and debits nothing', async () => {
    const { iccid } = await bed.delivered()
    const before = await bed.balance()
    const codes = []
    for (const packageCode of ['FR_1_7', 'japan-9gb-9d', 'KR_ONLY', 'TH_PASS']) {
      codes.push(await bed.codeOf('esim/topup', { iccid, packageCode }))
    }
    expect(codes).toEqual(['310243', '310243', '310243', '310243'])
    expect(await bed.balance()).toBe(before)
    const other = await addDealer(bed.node.deps)
    expect(await bed.codeOf('esim/topup', { iccid, packageCode: 'JP_1_7' }, {}, other)).toBe('310403')
  })

  test('with a BASE slug can be repeated even after the slug has come to mean another package', async () => {
    const { esimTranNo } = await bed.delivered()
    const body = { esimTranNo, slug: 'japan-3gb-30d', transactionId: 'BASE-1' }
    const first = await bed.post('esim/topup', body)
    expect(first.success).toBe(true)
    const before = await bed.balance()
    await setOnSale(bed.node.deps, { packageCodes: ['JP_3_30_TOPUP'] }, false, OPERATOR)
    expect((await bed.post('esim/topup', body)).obj).toEqual(first.obj)
    expect(await bed.codeOf('esim/topup', { ...body, transactionId: 'BASE-2' })).toBe('310243')
    await setOnSale(bed.node.deps, { packageCodes: ['JP_3_30_TOPUP'] }, true, OPERATOR)
    expect((await bed.post('esim/topup', { ...body, slug: undefined, packageCode: 'JP_3_30_TOPUP' })).success).toBe(
      true,
    )
    expect(await bed.balance()).toBe(before)
  })

  test('for a day pass accepts periodNum as a number or text, with the pass or without a package', async () => {
    for (const name of [{ packageCode: 'TH_PASS' }, { slug: 'thailand-days-more' }, {}]) {
      for (const periodNum of [3, '3']) {
        const { esimTranNo } = await bed.delivered('TH_PASS', bed.dealer, 2)
        const before = await bed.balance()
        const body = { esimTranNo, ...name, periodNum, transactionId: `DAYS-${esimTranNo}`, amount: String(3 * PRICE) }
        const { success, obj } = await bed.post('esim/topup', body)
        expect([name, periodNum, success, obj.totalDuration]).toEqual([name, periodNum, true, 5])
        expect(obj.topUpEsimTranNo).toBe(esimTranNo)
        expect(await toppedUpBy(esimTranNo)).toMatchObject({ packageCode: 'TH_PASS_TOPUP', periodNum: 3 })
        expect((await bed.post('esim/topup', body)).success).toBe(true)
        expect(await bed.balance()).toBe(before - 3 * PRICE)
      }
    }
  })

  test('without a package and days is refused with a hint on what is missing', async () => {
    const { esimTranNo } = await bed.delivered('TH_PASS')
    expect(await bed.codeOf('esim/topup', { esimTranNo })).toBe('000105')
    expect(await bed.codeOf('esim/topup', { periodNum: 2 })).toBe('000105')
    expect(await bed.codeOf('esim/topup', { esimTranNo: 'unknown', periodNum: 2 })).toBe('310403')
    const fixed = await bed.delivered()
    expect(await bed.codeOf('esim/topup', { esimTranNo: fixed.esimTranNo, periodNum: 2 })).toBe('200008')
  })
})

describe('numbers as text', () => {
  test('are accepted as numbers in esim/order: count, price, amount and periodNum', async () => {
    const before = await bed.balance()
    const line = { packageCode: 'JP_DAY', count: '2', price: String(DAY_PRICE), periodNum: '3' }
    const order = { transactionId: 'TEXT-1', amount: String(6 * DAY_PRICE), packageInfoList: [line] }
    expect((await bed.post('esim/order', order)).success).toBe(true)
    const sameAsNumbers = [{ packageCode: 'JP_DAY', count: 2, periodNum: 3 }]
    expect((await bed.post('esim/order', { transactionId: 'TEXT-1', packageInfoList: sameAsNumbers })).success).toBe(
      true,
    )
    expect(await bed.balance()).toBe(before - 6 * DAY_PRICE)
    const none = { ...order, transactionId: 'TEXT-2', amount: '0', packageInfoList: [{ ...line, price: '0' }] }
    expect((await bed.post('esim/order', none)).success).toBe(true)
  })

  test('are refused if they are not whole, or if a stated price or amount does not match', async () => {
    const before = await bed.balance()
    const codeOf = (line: object, more: object = {}) =>
      bed.codeOf('esim/order', { ...more, packageInfoList: [{ packageCode: 'JP_1_7', count: 1, ...line }] })
    const codes = []
    for (const count of ['1.5', '-1', '1e1', ' 1', 'one', '0', '99999999999999999999'])
      codes.push(await codeOf({ count }))
    codes.push(await codeOf({ price: '4.5' }), await codeOf({ periodNum: '2 days' }))
    codes.push(await codeOf({ price: '1' }), await codeOf({}, { amount: '1' }))
    expect(codes).toEqual([...Array(9).fill('200008'), '200005', '200006'])
    expect(await bed.balance()).toBe(before)
  })
})
