import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ImportProgress, importPackages } from '#catalogue/files/import-packages.ts'
import { type CatalogueTestbed, createCatalogueTestbed } from '../harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { admin } from '../harness/processes/admin-process.ts'

let testbed: CatalogueTestbed
let database: TestDatabase
let folder: string
beforeAll(async () => {
  testbed = await createCatalogueTestbed()
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'dealer-esim-catalogue-'))
})
afterAll(async () => {
  await testbed.close()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

test('a file with 50 000 packages and three errors changes nothing, and imports once corrected', async () => {
  const rows = 50_000
  const lines = Array.from(
    { length: rows },
    (_, i) => `BULK_${i},Bulk ${i},TOTAL,${i + 1_024},7,JP KR,4.50,sandbox,B${i}`,
  )
  const head = 'packageCode,name,dataType,volume,duration,locationCodes,price:USD,supplier1,productCode1'
  const bad = [...lines]
  bad[0] = bad[0]!.replace('4.50', 'four')
  bad[24_999] = bad[24_999]!.replace('TOTAL', 'TOTALLY')
  bad[49_999] = bad[49_999]!.replace('JP KR', 'JP XX')
  const before = await version()
  const steps: ImportProgress[] = []
  const imported = (file: string[]) =>
    importPackages(
      testbed.deps,
      { format: 'csv', source: pieces(file.join('\n')), dryRun: false, onProgress: (progress) => steps.push(progress) },
      testbed.by,
    )
  const report = await imported([head, ...bad])
  expect(report).toMatchObject({ imported: false, rows, errorRows: 3 })
  expect(report.errors.map(({ row, column, packageCode }) => [row, column, packageCode])).toEqual([
    [2, 'price:USD', 'BULK_0'],
    [25_001, 'dataType', 'BULK_24999'],
    [50_001, 'locationCodes', 'BULK_49999'],
  ])
  expect(await version()).toBe(before)

  steps.length = 0
  const clean = await imported([head, ...lines])
  expect(clean).toMatchObject({ imported: true, rows, added: rows, errorRows: 0, suppliers: ['sandbox'] })
  for (const step of ['CHECKING', 'WRITING']) {
    const reported = steps.filter((progress) => progress.step === step).map((progress) => progress.rows)
    expect(reported.length).toBeGreaterThan(100)
    expect(reported).toEqual([...reported].sort((a, b) => a - b))
    expect(reported.at(-1)).toBe(rows)
  }
  const snapshot = await testbed.freshCatalogue().latest()
  expect(snapshot.find('BULK_49999')).toMatchObject({ onSale: true, volume: 51_023n })
}, 300_000)

const version = async () => (await testbed.freshCatalogue().latest()).version

async function* pieces(file: string, size = 65_536) {
  const bytes = Buffer.from(file)
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

/** Fewer and larger rows, because here the file size matters. */
const ROWS = 21_000

/** About 75 MB: each package lists the networks of thirty countries. */
function bigFile(): string {
  const codes = 'AT BE CZ DK FI FR DE GR HU IE IT NL PL PT ES SE NO CH GB US CA MX BR AR CL JP KR TW HK SG'.split(' ')
  const locationNetworkList = codes.map((code) => ({
    ...{ locationCode: code, locationName: code },
    operatorList: [{ operatorName: 'Operator', networkType: '5G' }],
  }))
  const file = join(folder, 'big.json')
  const common = {
    dataType: 'TOTAL',
    volume: 1_073_741_824,
    duration: 7,
    locationCodes: ['!RG', ...codes],
    locationNetworkList,
  }
  const lines = Array.from({ length: ROWS }, (_, i) => {
    const suppliers = [{ supplier: 'sandbox', productCode: `P${i}`, costPrice: 1, costCurrency: 'USD' }]
    const own = { packageCode: `P${i}`, name: `Package ${i}`, price: 10_000 + i, currencyCode: 'USD' }
    return JSON.stringify({ ...own, ...common, suppliers })
  })
  writeFileSync(file, `[${lines.join(',\n')}]`)
  return file
}

test('a file larger than the heap is imported, and progress is shown', async () => {
  const file = bigFile()
  expect(readFileSync(file).length).toBeGreaterThan(70 * 2 ** 20)
  const env = { DATABASE_URL: database.url, DATA_DIR: folder }
  const { code, stdout, stderr } = await admin(['package', 'import', file], env, ['--max-old-space-size=64'])
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `Imported ${ROWS} packages: ${ROWS} added, 0 changed, 0 unchanged.\n`,
  })
  const shares = [...stderr.matchAll(/^(\d+) %: \d+ packages (checked|written)$/gm)].map(([, share]) => Number(share))
  expect(shares.length).toBeGreaterThanOrEqual(8)
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
}, 300_000)
