import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminFailure, adminJson } from '../harness/processes/admin-in-process.ts'

let database: TestDatabase
let folder: string
let yen: string

beforeAll(async () => {
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'dealer-esim-currencies-'))
  vi.stubEnv('DATABASE_URL', database.url)
  vi.stubEnv('DATA_DIR', folder)
  yen = (await adminJson('tenant', 'create', '--name', 'Sakura', '--currency', 'JPY')).tenantId
  await adminJson('package', 'set', 'JP_1_7', ...PACKAGE, '--price', '455', '--currency', 'JPY')
  await adminJson('price', 'plan', 'create', 'GOLD', '--percent', '-10')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

const PACKAGE = [
  ...['--name', 'Japan', '--data-type', 'TOTAL', '--volume', '1GB', '--days', '7', '--locations', 'JP'],
  ...['--supplier', 'sandbox:SANDBOX_OK'],
]

test.each([
  ['a list price', () => ['package', 'set', 'X', ...PACKAGE, '--price', '4.50', '--currency', 'UDS']],
  ['a cost', () => ['package', 'set', 'X', ...PACKAGE.slice(0, -1), 'sandbox:X:1.00:UDS']],
  ['a rule of a plan', () => ['price', 'plan', 'set', 'GOLD', '--price', '4.50', '--currency', 'UDS']],
  ['a sale rule', () => ['rule', 'set', 'R', '--currency', 'UDS']],
  ['an exchange rate', () => ['price', 'rate', 'set', 'UDS', 'EUR', '0.92']],
  ['a dealer', () => ['tenant', 'create', '--name', 'A', '--currency', 'UDS']],
])('%s in a nonexistent currency is refused', async (_, command) => {
  expect(await adminFailure(...command())).toMatch(/ISO 4217/)
})

test.each([
  ['a top-up', () => ['wallet', 'top-up', yen, '1000.5', '--reference', 'INV-1']],
  ['an adjustment', () => ['wallet', 'adjust', yen, '-0.5', '--reference', 'C-1', '--reason', 'Correction']],
  ['a list price', () => ['price', 'set', 'JP_1_7', '450.5', '--currency', 'JPY']],
  ["a dealer's own price", () => ['price', 'set', 'JP_1_7', '450.5', '--tenant', yen]],
  ['a fixed price of a plan', () => ['price', 'plan', 'set', 'GOLD', '--price', '450.5', '--currency', 'JPY']],
  ['a credit limit', () => ['tenant', 'set', yen, '--credit-limit', '100.5']],
  ['a low-balance threshold', () => ['tenant', 'set', yen, '--low-balance-threshold', '0.0001']],
])('%s with a fraction of a yen is refused', async (_, command) => {
  expect(await adminFailure(...command())).toMatch(/JPY has no decimal places: write a whole amount, such as 450\./)
})

test('percentage prices in yen are rounded half up to whole yen', async () => {
  const price = async (percent: string, ...more: string[]) => {
    await adminJson('price', 'plan', 'set', 'GOLD', '--percent', percent, ...more)
    return (await adminJson('price', 'list', 'JP_1_7', '--tenant', yen))[0].price
  }
  await adminJson('price', 'plan', 'assign', 'GOLD', '--tenant', yen)
  expect(await price('-10')).toBe(4_100_000) // 409.5
  expect(await price('-10.0001')).toBe(4_090_000) // 409.499545
  expect(await price('-10', '--round', '.99')).toBe(4_100_000)
  expect(await price('-10', '--round', '10')).toBe(4_100_000)
})
