import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { adminJsonWith, adminWith } from '../harness/processes/admin-in-process.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-brands-'))
let database: TestDatabase
let env: Record<string, string>
let tenantId: string
beforeAll(async () => {
  database = await createTestDatabase()
  env = { DATABASE_URL: database.url, DATA_DIR: dataDir, MASTER_KEY: '00'.repeat(32) }
  const create = ['tenant', 'create', '--name', 'Acme', '--currency', 'EUR']
  tenantId = (await adminJsonWith<{ tenantId: string }>(create, env)).tenantId
})
afterAll(async () => {
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

test('brands are set from files, listed, shown and deleted', async () => {
  const file = join(dataDir, 'brand.json')
  const set = (brand: object, ...options: string[]) => {
    writeFileSync(file, JSON.stringify(brand))
    return adminWith(['brand', 'set', file, ...options], env)
  }
  writeFileSync(
    join(dataDir, 'logo.svg'),
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>',
  )
  const meridian = { name: 'Meridian', accent: '#14655a', supportEmail: 'care@m.example' }
  expect(await set({ ...meridian, logoLight: 'logo.svg' })).toMatchObject({ code: 0 })
  expect(await adminJsonWith(['brand', 'show'], env)).toEqual(meridian)
  const lotus = ['--tenant', tenantId, '--brand', 'lotus']
  expect(await set({ name: 'Lotus' }, ...lotus)).toMatchObject({ code: 0 })
  expect(await set({ name: 'Outlet' }, '--tenant', tenantId, '--brand', 'outlet', '--default')).toMatchObject({
    code: 0,
  })
  const list = await adminJsonWith(['brand', 'list', '--tenant', tenantId], env)
  expect(list).toMatchObject([
    { brand: 'outlet', isDefault: true },
    { brand: 'lotus', isDefault: false },
  ])
  for (const [brand, fault] of [
    [{ name: 'Lotus', script: 'x' }, /brand\.json: script is not a member/],
    [{ name: 'Lotus', accent: 'red' }, /brand\.json: accent must match pattern/],
    [{ name: 'Lotus', topUpUrl: 'http://l.example' }, /https:\/\//],
  ] as const)
    expect(await set(brand, ...lotus)).toMatchObject({ code: 1, stderr: expect.stringMatching(fault) })
  expect(await set({ name: 'Lotus' }, '--tenant', tenantId)).toMatchObject({ code: 2 })
  await adminJsonWith(['brand', 'delete', ...lotus], env)
  expect(await adminJsonWith(['brand', 'list', '--tenant', tenantId], env)).toHaveLength(1)
})
