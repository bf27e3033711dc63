import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Buyer, Snapshot } from '#catalogue/catalogue.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import { type CatalogueTestbed, createCatalogueTestbed } from '../harness/catalogue-testbed.ts'

let testbed: CatalogueTestbed
let retail: Buyer
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
  retail = await testbed.addTenant('USD')
})
afterAll(() => testbed.close())

test('the change feed reports whether a package can still be topped up after it or its top-up changes supplier', async () => {
  const usd = { price: 10_000, currencyCode: 'USD' }
  const from = (...names: string[]) => ({ suppliers: names.map((supplier) => ({ supplier, productCode: 'P' })) })
  const all = ['MOVED', 'TWO_SUPPLIERS', 'ELSEWHERE', 'UNRELATED']
  await testbed.put(
    { packageCode: 'MOVED', ...usd, ...from('first') },
    { packageCode: 'TWO_SUPPLIERS', ...usd, ...from('sandbox', 'first') },
    { packageCode: 'ELSEWHERE', ...usd, ...from('second') },
    { packageCode: 'UNRELATED', ...usd, ...from('first'), productFamily: 'other' },
    { packageCode: 'MORE', packageType: 'TOPUP', ...usd, ...from('first') },
  )
  const supported = (snapshot: Snapshot, request = {}) =>
    Object.fromEntries(
      listPackages(snapshot, retail, request).packageList.flatMap((item) =>
        item.status === 'ON_SALE' && all.includes(item.packageCode) ? [[item.packageCode, item.topUpSupported]] : [],
      ),
    )
  const now = () => testbed.freshCatalogue().latest()
  let before = await now()
  expect(supported(before)).toEqual({ MOVED: true, TWO_SUPPLIERS: true, ELSEWHERE: false, UNRELATED: false })
  for (const [change, reported] of [
    [
      { packageCode: 'MORE', ...from('second') },
      { MOVED: false, TWO_SUPPLIERS: false, ELSEWHERE: true },
    ],
    [{ packageCode: 'MOVED', ...from('second') }, { MOVED: true }],
    [
      { packageCode: 'MORE', productFamily: 'other' },
      { MOVED: false, ELSEWHERE: false },
    ],
    [{ packageCode: 'MORE', ...from('first') }, { UNRELATED: true }],
    [{ packageCode: 'MORE', locationCodes: ['FR'] }, { UNRELATED: false }],
    [
      { packageCode: 'MORE', ...from('second'), productFamily: null, locationCodes: ['JP'] },
      { MOVED: true, ELSEWHERE: true },
    ],
    [{ packageCode: 'ELSEWHERE', ...from('second', 'first') }, { ELSEWHERE: true }],
    [
      { packageCode: 'MORE', ...from('second', 'first') },
      { MOVED: true, ELSEWHERE: true, TWO_SUPPLIERS: true },
    ],
  ] as const) {
    await testbed.put(change)
    const after = await now()
    expect(supported(after, { updatedSince: listPackages(before, retail, {}).asOf })).toEqual(reported)
    before = after
  }
})
