import { afterAll, beforeAll, expect, test } from 'vitest'
import { seedDemoCatalogue, seedSandboxPackages } from '#catalogue/demo/seed-catalogue.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
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
