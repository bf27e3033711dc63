import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signRequest } from '@dealer-esim/contract/node'
import { afterAll, expect, test } from 'vitest'
import { removeFolder } from '#test/harness/temporary-folders.ts'
import { adminWith } from '../harness/processes/admin-in-process.ts'
import { admin, adminJson } from '../harness/processes/admin-process.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

/* Admin commands on a local gateway's database, whether the gateway is running or not. */

interface Credentials {
  tenantId: string
  appKey: string
  appSecret: string
}

const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-admin-'))
const env = { DATA_DIR: dataDir }
let gateway: GatewayProcess | undefined
afterAll(async () => {
  await stopGateways()
  removeFolder(dataDir)
})

test('no command creates a local gateway', async () => {
  for (const command of [['tenant', 'create', '--name', 'One'], ['migrate']]) {
    const { code, stdout, stderr } = await adminWith(command, env)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`DEPLOYMENT is not set and there is no local gateway in ${dataDir}.`)
    expect(stderr).toMatch(/ops\/dealer-esim-admin[\s\S]*npm start/)
  }
  expect(readdirSync(dataDir)).toEqual([])
})

test('with DEPLOYMENT set, commands work before any gateway has run, and wait for each other', async () => {
  const local = { ...env, DEPLOYMENT: 'local' }
  const both = await Promise.all(
    ['One', 'Two'].map((name) => adminJson<Credentials>(['tenant', 'create', '--name', name], local)),
  )
  expect(await tenantIds()).toEqual(expect.arrayContaining(both.map(({ tenantId }) => tenantId)))
})

test('a command that cannot use the master key stops the database that it started', async () => {
  const before = await tenantIds()
  const file = join(dataDir, 'master.key')
  const key = readFileSync(file)
  writeFileSync(file, 'not a key')
  const run = await admin(['tenant', 'list'], env)
  writeFileSync(file, key)
  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toContain('master.key does not contain a 32-byte key')
  expect(await tenantIds()).toEqual(before)
})

test('a change made while a gateway is running applies to the next request', async () => {
  await gateway?.kill()
  gateway = await startGateway({ dataDir })
  const dealer = await adminJson<Credentials>(['tenant', 'create', '--name', 'Three'], env)
  expect(await health(gateway.baseUrl, dealer)).toBe('000000')
  await adminJson(['tenant', 'suspend', dealer.tenantId], env)
  expect(await health(gateway.baseUrl, dealer)).toBe('101005')
  await adminJson(['tenant', 'resume', dealer.tenantId], env)
  const reset = ['tenant', 'reset-secret', dealer.tenantId]
  const second = await adminJson<Credentials>([...reset, '--grace', '24h'], env)
  expect(await health(gateway.baseUrl, dealer)).toBe('000000')
  const { appSecret } = await adminJson<Credentials>(reset, env) // no grace by default
  for (const old of [dealer.appSecret, second.appSecret]) {
    expect(await health(gateway.baseUrl, { ...dealer, appSecret: old })).toBe('101003')
  }
  expect(await health(gateway.baseUrl, { ...dealer, appSecret })).toBe('000000')
  await adminJson(['tenant', 'set', dealer.tenantId, '--ip-allowlist', '203.0.113.0/24'], env)
  expect(await health(gateway.baseUrl, { ...dealer, appSecret })).toBe('101002')
})

const tenantIds = async () =>
  (await adminJson<{ tenantId: string }[]>(['tenant', 'list'], env)).map(({ tenantId }) => tenantId)

/** Sends a signed `health` request. @returns the code in the answer */
async function health(baseUrl: string, { appKey, appSecret }: Credentials): Promise<string> {
  const signed = { timestamp: String(Date.now()), requestId: randomUUID(), appKey }
  const response = await fetch(`${baseUrl}/open-api/v1/health`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'RT-AccessCode': appKey,
      'RT-RequestID': signed.requestId,
      'RT-Timestamp': signed.timestamp,
      'X-Signature': signRequest(appSecret, signed, '{}'),
    },
    body: '{}',
  })
  return ((await response.json()) as { code: string }).code
}
