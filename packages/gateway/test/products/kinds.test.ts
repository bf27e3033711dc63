import { readVolume, volumeText } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProductsTestbed, type ProductsTestbed } from './products-testbed.ts'

/* Every wholesaler's catalogue can be sold with rules. */

let testbed: ProductsTestbed
beforeAll(async () => {
  testbed = await createProductsTestbed()
})
afterAll(() => testbed.close())

it.each(['airalo', 'esim-access', 'esim-go', 'mobimatter', 'zendit'] as const)(
  'products from %s become packages, and an unchanged catalogue does not change them',
  async (kind) => {
    await testbed.addWholesaler(kind, kind, 60)
    const result = await testbed.sync(kind)
    expect(result).toMatchObject({ outcome: 'DONE', changed: 0, removed: 0 })
    const rule = { currencyCode: 'USD', percent: '20', suppliers: [kind], filter: { packageType: null } }
    await testbed.setRule(kind, { ...rule, codeTemplate: '{supplier}-{product}' })
    const { counts, skipped } = await testbed.apply()
    const listed = 'listed' in result ? result.listed : 0
    expect({ listed: counts.ADDED, skipped }).toMatchObject({ listed, skipped: { NO_COUNTRY: 0, NO_COST: 0 } })
    await expectNamesToShowVolumes(kind)
    expect(await testbed.sync(kind)).toMatchObject({ outcome: 'DONE', added: 0, changed: 0, removed: 0 })
    expect((await testbed.preview()).counts).toMatchObject({ ADDED: 0, CHANGED: 0, OFF_SALE: 0, BLOCKED: 0 })
  },
)

/** “Japan 5 GB 3 days” is shown with 5 GB on every page, whichever way the wholesaler counts a gigabyte. */
async function expectNamesToShowVolumes(kind: string): Promise<void> {
  const packages = await testbed.db.query<{ name: string; volume: bigint | null }>({
    text: `select p.name, p.volume
           from packages p join package_suppliers s using (package_code) where s.supplier = $1`,
    values: [kind],
  })
  expect(packages.length).toBeGreaterThan(10)
  const expected = ({ volume }: (typeof packages)[number]) =>
    volume === null ? 'Unlimited' : volumeText(readVolume(volume))
  expect(packages.filter((item) => !item.name.includes(` ${expected(item)}`))).toEqual([])
}
