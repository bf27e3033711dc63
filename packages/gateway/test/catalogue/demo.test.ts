import { afterAll, beforeAll, expect, test } from 'vitest'
import { seedDemoCatalogue, seedSandboxPackages } from '#catalogue/demo/seed-catalogue.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import type { Deps } from '#deps.ts'
import type { Call, JsonParts } from '#http/dealer/dealer-call.ts'
import { listPackages as answerPackageList } from '#http/dealer/dealer-packages.ts'
import { type CatalogueTestbed, createCatalogueTestbed } from '../harness/catalogue-testbed.ts'

let testbed: CatalogueTestbed
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
})
afterAll(() => testbed.close())

test('the demo catalogue is added once and keeps the operator’s changes', async () => {
  const deps = { db: testbed.db, ids: testbed.deps.ids }
  expect(await seedSandboxPackages(deps)).toBe(15)
  expect(await seedDemoCatalogue(deps)).toBeGreaterThan(200)
  const buyer = await testbed.addTenant('USD')
  const catalogue = testbed.freshCatalogue()
  const before = await catalogue.latest()
  expect(before.offer(buyer, 'JP_1_7')).toMatchObject({ price: 45_000n })
  expect(before.find('JP_1_7')).toMatchObject({ dataType: 'TOTAL', volume: 1_073_741_824n })
  expect(listPackages(before, buyer, { keyword: 'sandbox_' }).packageList.length).toBe(11)
  expect(listPackages(before, buyer, { keyword: 'sandbox_', type: 'TOPUP' }).packageList.length).toBe(4)
  await testbed.put({ packageCode: 'JP_1_7', name: 'Mine' })
  expect(await seedDemoCatalogue(deps)).toBe(0)
  expect((await catalogue.latest()).offer(buyer, 'JP_1_7')).toMatchObject({ packageName: 'Mine' })
})

test.each([1, 49, 50, 51, 100, 500])(
  'a page of %i packages reads as one, and is built 50 at a time',
  async (pageSize) => {
    const tenant = await testbed.addTenant('USD')
    const catalogue = await testbed.freshCatalogue().latest()
    const page = listPackages(catalogue, tenant, { pageSize })
    let turns = 0
    const deps = { catalogue: { current: async () => catalogue } } as unknown as Deps
    const call = {
      tenant,
      request: { pageSize },
      nextTurn: async () => void turns++,
    } as unknown as Call<'package/list'>
    const { data } = await answerPackageList(deps, call)
    const { parts } = data as JsonParts
    expect(JSON.parse(parts.join(''))).toEqual({ ...page, asOf: expect.any(String) })
    expect(turns).toBe(Math.ceil(page.packageList.length / 50))
  },
)
