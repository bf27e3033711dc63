import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await stopGateways()
  await database.drop()
})

it('CONSOLE=off disables the console’s pages and API, and local.json has no console address', async () => {
  const gateway = await startGateway({ databaseUrl: database.url, role: 'api', env: { CONSOLE: 'off' } })
  for (const path of ['/console', '/console/', '/console/assets/', '/console/api/session', '/console/api/openapi.json'])
    expect([path, (await fetch(gateway.baseUrl + path)).status]).toEqual([path, 404])
  expect((await fetch(`${gateway.baseUrl}/docs`)).status).toBe(200)
  expect(JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8'))).not.toHaveProperty('consoleUrl')
})
