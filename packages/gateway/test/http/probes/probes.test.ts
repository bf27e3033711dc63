import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeps, type Deps } from '#deps.ts'
import { isMetricsHost, type Readiness, startProbes } from '#http/probes/probes-server.ts'
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

describe('the port for metrics and probes', () => {
  it('serves metrics that Prometheus accepts', async () => {
    deps.requestMetrics.observe('health', '000000', 3)
    const scrape = await (await probe('/metrics')).text()
    expect(scrape).toContain('dealer_esim_requests_total{operation="health",code="000000"} 1')
    expect(scrape).toMatch(/^dealer_esim_database_connections\{pool="orders",state="open"\} \d+$/m)
  })

  it('serves metrics only under its own host names, so that no web page can read them', async () => {
    const config = { metricsHost: '0.0.0.0', metricsHosts: ['node1.internal'] }
    const isServed = (host: string | undefined, localAddress = '::ffff:10.0.0.21') =>
      isMetricsHost(config, { headers: { host }, socket: { localAddress } } as never)
    for (const host of ['127.0.0.1:9464', 'localhost', '[::1]:9464', '10.0.0.21:9464', 'Node1.internal:9464'])
      expect([host, isServed(host)]).toEqual([host, true])
    for (const host of ['evil.example:9464', '10.0.0.22', 'node1.internal.evil.example', '', undefined])
      expect([host, isServed(host)]).toEqual([host, false])
    expect(isServed('[fd00::21]:9464', 'fd00::21')).toBe(true)
    const ask = (path: string) =>
      new Promise<[number, string]>((resolve) => {
        const headers = { host: `evil.example:${probes.port}` }
        get({ host: '127.0.0.1', port: probes.port, path, headers }, async (answer) =>
          resolve([answer.statusCode!, await text(answer)]),
        )
      })
    expect(await ask('/metrics')).toEqual([403, expect.stringContaining('METRICS_HOSTS')])
    expect((await ask('/livez'))[0]).toBe(200)
  })

  it('reports ready only while the process serves requests', async () => {
    const states = async () => [(await probe('/readyz')).status, (await probe('/livez')).status]
    expect(await states()).toEqual([503, 200])
    readiness.state = 'stopping'
    expect(await states()).toEqual([503, 200])
    readiness.state = 'serving'
    expect(await states()).toEqual([200, 200])
  })

  it('reports ready only while the database answers, but always reports live', async () => {
    expect((await probe('/readyz')).status).toBe(200)
    proxy.setClosed(true)
    expect((await probe('/readyz')).status).toBe(503)
    expect((await probe('/livez')).status).toBe(200)
    expect((await probe('/metrics')).status).toBe(200)
    proxy.setClosed(false)
    await expect.poll(async () => (await probe('/readyz')).status).toBe(200)
  })
})
