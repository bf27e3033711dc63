import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeps, type Deps } from '#deps.ts'
import { type Readiness, startProbes } from '#http/probes/probes-server.ts'
import { readConfig } from '#platform/config/config.ts'
import { NODE_ENV } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { type PostgresProxy, startPostgresProxy } from '#test/harness/databases/database-proxies.ts'

let database: TestDatabase
let proxy: PostgresProxy
let deps: Awaited<ReturnType<typeof createDeps>> & Deps
const readiness: Readiness = { state: 'starting' }
let probes: Awaited<ReturnType<typeof startProbes>>

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startPostgresProxy(database.url)
  deps = await createDeps(readConfig({ ...NODE_ENV, DATABASE_URL: proxy.url }, []), silentLog, proxy.url)
  probes = await startProbes(deps, readiness)
})
afterAll(async () => {
  await probes.stop(1_000)
  await deps.stop(1_000)
  await proxy.close()
  await database.drop()
})

const probe = (path: string) => fetch(`http://127.0.0.1:${probes.port}${path}`)

describe('the port of metrics and probes', () => {
  it('serves metrics that Prometheus accepts', async () => {
    deps.requestMetrics.observe('health', '000000', 3)
    const text = await (await probe('/metrics')).text()
    expect(text).toContain('dealer_esim_requests_total{operation="health",code="000000"} 1')
    expect(text).toMatch(/^dealer_esim_database_connections\{pool="orders",state="open"\} \d+$/m)
  })

  it('is ready only while the process serves', async () => {
    const states = async () => [(await probe('/readyz')).status, (await probe('/livez')).status]
    expect(await states()).toEqual([503, 200])
    readiness.state = 'stopping'
    expect(await states()).toEqual([503, 200])
    readiness.state = 'serving'
    expect(await states()).toEqual([200, 200])
  })

  it('reports ready only while the database answers, and live at all times', async () => {
    expect((await probe('/readyz')).status).toBe(200)
    proxy.setClosed(true)
    expect((await probe('/readyz')).status).toBe(503)
    expect((await probe('/livez')).status).toBe(200)
    expect((await probe('/metrics')).status).toBe(200)
    proxy.setClosed(false)
    await expect.poll(async () => (await probe('/readyz')).status).toBe(200)
  })
})
