import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addConsolePages } from '#http/console/console-pages.ts'
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

it('CONSOLE=off disables the console pages and API, and leaves their address out of local.json', async () => {
  const gateway = await startGateway({ databaseUrl: database.url, role: 'api', env: { CONSOLE: 'off' } })
  for (const path of ['/console', '/console/', '/console/assets/', '/console/api/session', '/console/api/openapi.json'])
    expect([path, (await fetch(gateway.baseUrl + path)).status]).toEqual([path, 404])
  expect((await fetch(`${gateway.baseUrl}/docs`)).status).toBe(200)
  expect(JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8'))).not.toHaveProperty('consoleUrl')
})

it('a console that has not been built answers with 503 and says how to build it', async () => {
  const app = fastify()
  const directory = join(tmpdir(), 'no-such-console')
  addConsolePages(app, { directory, prefix: '', ids: systemIds, httpsOnly: false, db: { query: async () => [] } })
  for (const url of ['/console', '/console/', '/console/orders', '/console/assets/index.js', '/console/icon.svg']) {
    const { statusCode, headers, body } = await app.inject({ url })
    expect([url, statusCode, body]).toEqual([url, 503, expect.stringMatching(/not built.*npm run build/)])
    expect(headers['content-type']).toMatch(/^text\/plain/)
  }
  expect((await app.inject({ url: '/console/api/session' })).statusCode).toBe(404)
  await app.close()
})
