import { afterAll, beforeAll, expect, it } from 'vitest'
import { SYSTEM } from '#platform/audit/audit.ts'
import { applyRules } from '#products/rules/apply-rules.ts'
import { previewRules } from '#products/rules/preview-rules.ts'
import { createProductsTestbed, type ProductsTestbed } from './products-testbed.ts'

/* A large wholesaler: 5 000 products in 200 countries. */

const PRODUCTS = 5_000
const COUNTRIES_MIN = 200
/**
 * A preview may take at most this many times as long as the first sync, which reads the same products and writes their
 * rows.
 */
const SYNCS_MAX = 5
const MEMORY_MAX_BYTES = 200 * 1024 * 1024

let testbed: ProductsTestbed
beforeAll(async () => {
  testbed = await createProductsTestbed()
  await testbed.addWholesaler('large', 'zendit', PRODUCTS)
})
afterAll(() => testbed.close())

/** Runs `work`, sampling the memory of the process during it. */
async function measure<Result>(work: () => Promise<Result>) {
  const atRest = process.memoryUsage().rss
  let highest = atRest
  const sampling = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss)
  }, 5)
  const startedAt = performance.now()
  const result = await work()
  const tookMs = performance.now() - startedAt
  highest = Math.max(highest, process.memoryUsage().rss)
  clearInterval(sampling)
  return { result, tookMs, grownBytes: highest - atRest }
}

/** How many rows have been written so far to each table of products, packages and prices. */
async function rowsWritten() {
  const tables = ['supplier_products', 'supplier_product_costs', 'packages', 'package_suppliers', 'list_prices']
  const counts: Record<string, string> = {}
  for (const table of [...tables, 'rule_packages', 'catalogue_version']) {
    const [row] = await testbed.db.query<{ state: string }>({
      // The latest transaction that wrote a row, and the number of rows.
      text: `select count(*) || ' ' || coalesce(max(xmin::text::bigint), 0) as state from ${table}`,
    })
    counts[table] = row!.state
  }
  return counts
}

it('5 000 products are previewed about as fast as they are synced, within 200 MB of memory', async () => {
  const first = await measure(() => testbed.sync('large'))
  expect(first.result).toMatchObject({ outcome: 'DONE', added: PRODUCTS })
  const [covered] = await testbed.db.query<{ count: number }>({
    text: 'select count(distinct country)::int from supplier_products, unnest(countries) as country',
  })
  expect(covered!.count).toBeGreaterThanOrEqual(COUNTRIES_MIN)
  const rule = { currencyCode: 'USD', percent: '25', minMargin: 3_000, rounding: '.49/.99' }
  await testbed.setRule('all', { ...rule, codeTemplate: '{product}' })
  const preview = await measure(() => previewRules(testbed.db))
  expect(preview.result.counts).toMatchObject({ ADDED: PRODUCTS, BLOCKED: 0 })
  expect(preview.tookMs).toBeLessThan(SYNCS_MAX * first.tookMs)
  expect(preview.grownBytes).toBeLessThan(MEMORY_MAX_BYTES)
  const apply = await measure(() => applyRules(testbed, preview.result.basis, SYSTEM))
  expect(apply.result).toEqual({ added: PRODUCTS, changed: 0 })
  const [written] = await testbed.db.query<{ transactions: number; packages: number }>({
    text: `select count(distinct xmin::text)::int as transactions, count(*)::int as packages from packages
           where package_code in (select package_code from rule_packages)`,
  })
  expect(written).toEqual({ transactions: 1, packages: PRODUCTS })
  const again = await measure(() => previewRules(testbed.db))
  expect(again.result.counts).toMatchObject({ ADDED: 0, CHANGED: 0, UNCHANGED: PRODUCTS })
  expect(again.tookMs).toBeLessThan(SYNCS_MAX * first.tookMs)
  expect(again.grownBytes).toBeLessThan(MEMORY_MAX_BYTES)
})

it('a second sync of an unchanged catalogue writes no rows', async () => {
  const before = await rowsWritten()
  expect(await testbed.sync('large')).toMatchObject({ outcome: 'DONE', added: 0, changed: 0, removed: 0 })
  expect(await rowsWritten()).toEqual(before)
})
