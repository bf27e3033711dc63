import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { bash, codeBlocks, fakeNpmPath } from '../harness/processes/docs-commands.ts'
import { buildGateway } from '../harness/processes/gateway-process.ts'

const root = join(packageRoot(), '../..')
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-money-'))
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  buildGateway()
})
afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the page's commands in order in one shell, because later ones use the results of earlier ones. */
function run(script: string) {
  const PATH = fakeNpmPath(folder)
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    DATABASE_SCHEMA: DEFAULT_SCHEMA,
    DATA_DIR: folder,
    MASTER_KEY: '00'.repeat(32),
    PATH,
  }
  return bash(script, { cwd: root, env })
}

test('the commands in docs/money.md run unchanged and in order', async () => {
  const blocks = codeBlocks(readFileSync(join(root, 'docs/money.md'), 'utf8'), 'sh')
  expect(blocks.length).toBeGreaterThan(4)
  const csv = join(folder, '2026-11.csv')
  const { code, stdout, stderr } = await run(blocks.join('').replace('> 2026-11.csv', `> ${csv}`))
  expect([code, stderr]).toEqual([0, ''])
  for (const words of ['Acme Travel GmbH', 'Posted 1250.00', 'credited twice', 'Opening', 'The ledger is consistent']) {
    expect(stdout).toContain(words)
  }
  expect(readFileSync(csv, 'utf8')).toMatch(/^version,time,kind,amount,/)
}, 120_000)
