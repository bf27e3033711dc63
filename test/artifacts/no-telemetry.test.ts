import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestDatabase } from '@dealer-esim/gateway/test/harness/databases/database.ts'
import { admin } from '@dealer-esim/gateway/test/harness/processes/admin-process.ts'
import {
  copyUsedDataDir,
  SHARED_MASTER_KEY,
  startGateway,
  stopGateways,
  temporaryFolder,
} from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { startReceiver } from '@dealer-esim/gateway/test/webhooks/receiver.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openedConnections, RECORD_CONNECTIONS } from './connection-recorder.ts'
import { startPrefixProxy } from './prefix-proxy.ts'

afterAll(stopGateways)

/** A file that records a gateway's connections, and the variables that enable this. */
function newRecord() {
  const CONNECTIONS_FILE = join(temporaryFolder('telemetry'), 'connections')
  writeFileSync(CONNECTIONS_FILE, '')
  const env = { NODE_OPTIONS: RECORD_CONNECTIONS, CONNECTIONS_FILE }
  return { env, opened: () => openedConnections(readFileSync(CONNECTIONS_FILE, 'utf8')) }
}

test('the recorder sees every kind of outgoing connection from Node', () => {
  const script = `
    import { createSocket } from 'node:dgram'
    import { lookup } from 'node:dns'
    import { Resolver, resolveMx } from 'node:dns/promises'
    createSocket('udp4').close()
    lookup('one.invalid', () => {})
    resolveMx('two.invalid').catch(() => {})
    new Resolver({ timeout: 1, tries: 1 }).resolve4('three.invalid').catch(() => {})
    await fetch('http://127.0.0.1:2').catch(() => {})
    await fetch('http://four.invalid').catch(() => {})
    process.exit()`
  const { env, opened } = newRecord()
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { env: { ...process.env, ...env } })
  const names = ['one', 'two', 'three', 'four'].map((name) => `name ${name}.invalid`)
  expect(opened()).toEqual(expect.arrayContaining(['datagrams', 'connect 127.0.0.1:2', ...names]))
})

test('a local gateway opens only configured connections', async () => {
  const { env, opened } = newRecord()
  const dataDir = join(temporaryFolder('telemetry'), '.data')
  await copyUsedDataDir(dataDir)
  const gateway = await startGateway({ dataDir, env })
  const { baseUrl, appKey, appSecret } = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  const dealer = new DealerEsim({ baseUrl, appKey, appSecret })
  const packageInfoList = [{ packageCode: 'JP_1_7', count: 1 }]
  await dealer.order({ transactionId: 'TELEMETRY-1', packageInfoList })
  await readPages(baseUrl)
  const database = gateway.logs.find(({ msg }) => msg === 'embedded database started')
  expect(database).toBeDefined()
  // Nothing but its own PostgreSQL, on one port of loopback.
  expect(opened()).toEqual([expect.stringMatching(/^connect 127\.0\.0\.1:\d+$/)])

  // What a dealer configures is seen.
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  await dealer.setWebhook({ callbackUrl: receiver.url })
  await dealer.order({ transactionId: 'TELEMETRY-2', packageInfoList })
  await expect.poll(() => receiver.events.length).toBeGreaterThan(0)
  const { port } = new URL(receiver.url)
  expect(opened().some((line) => line.endsWith(`:${port}`))).toBe(true)
})

test('a production gateway and its commands connect only to the database, until they end', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  const { env, opened } = newRecord()
  const production = {
    ...env,
    ...{ DEPLOYMENT: 'production', PUBLIC_URL: 'https://esim.example.com', TRUSTED_PROXIES: '127.0.0.1' },
  }
  const gateway = await startGateway({ databaseUrl: database.url, env: production })
  const { port } = gateway.logs.find(({ msg }) => msg === 'ready')!
  const proxy = await startPrefixProxy(`http://127.0.0.1:${port}`, '')
  onTestFinished(() => proxy.close())
  await readPages(proxy.url)
  const commands = { ...production, DATABASE_URL: database.url, MASTER_KEY: SHARED_MASTER_KEY }
  const created = await admin(['tenant', 'create', '--name', 'Acme'], commands)
  expect([created.code, created.stderr]).toEqual([0, ''])
  const { code } = await gateway.kill('SIGTERM')
  expect(code).toBe(0)
  expect(opened()).toEqual([`connect ${new URL(database.url).host}`])

  // Configured connections are recorded: doctor calls PUBLIC_URL.
  await admin(['doctor'], commands)
  expect(opened()).toContain('name esim.example.com')
})

async function readPages(baseUrl: string): Promise<void> {
  for (const path of ['/docs', '/docs/reference', '/console/']) {
    expect([path, (await fetch(`${baseUrl}${path}`)).status]).toEqual([path, 200])
  }
}
