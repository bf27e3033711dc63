import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resetSecret } from '#tenants/app-secret.ts'
import { resumeTenant, suspendTenant } from '#tenants/change-tenant.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { startTcpProxy, type TcpProxy } from '#test/harness/databases/database-proxies.ts'
import { startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'

let database: TestDatabase
let proxy: TcpProxy
/** Changes are made on `here`. `frozenNode` is not notified of them, because its LISTEN connection is frozen. */
let here: Node
let frozenNode: Node
let dealer: Dealer

const ENV = { TRUSTED_PROXIES: '127.0.0.1', DEFAULT_QPS_LIMIT: '100000' }

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startTcpProxy(database.url)
  here = await startNode(database.url, ENV)
  frozenNode = await startNode(proxy.url, ENV)
  proxy.freeze(' wake')
  await waitUntil(async () => proxy.frozenCount === 1)
})
afterAll(async () => {
  proxy.thaw()
  await Promise.all([here.stop(), frozenNode.stop(), stopGateways()])
  await proxy.close()
  await database.drop()
})

/** A dealer that both nodes have cached. */
async function knownDealer(): Promise<Dealer> {
  dealer = await addDealer(here.deps)
  expect(await codes()).toEqual(['000000', '000000'])
  return dealer
}

function forwarded(address: string) {
  return { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': address }
}

/** Both nodes' answers to the next request. */
async function codes(secret = dealer.appSecret, nodes: { baseUrl: string }[] = [here, frozenNode]): Promise<string[]> {
  const headers = forwarded('127.0.0.1')
  return Promise.all(nodes.map(async (node) => (await call(node, dealer, 'health', { secret, headers })).code))
}

const GOOD = ['000000', '000000']
const BAD_SIGNATURE = ['101003', '101003']

describe('settings apply to the next request on every node, notified or not', () => {
  it('a reset secret replaces the old secret', async () => {
    await knownDealer()
    const { appSecret } = await resetSecret(here.deps, dealer.tenantId, { graceMs: 0 }, OPERATOR)
    expect(await codes()).toEqual(BAD_SIGNATURE)
    expect(await codes(appSecret)).toEqual(GOOD)
  })

  it('a grace period begins, and ends after its time or with the next reset', async () => {
    await knownDealer()
    const first = dealer.appSecret
    const second = (await resetSecret(here.deps, dealer.tenantId, { graceMs: 3_600_000 }, OPERATOR)).appSecret
    expect([await codes(first), await codes(second)]).toEqual([GOOD, GOOD])
    const third = (await resetSecret(here.deps, dealer.tenantId, { graceMs: 4_000 }, OPERATOR)).appSecret
    expect([await codes(first), await codes(second), await codes(third)]).toEqual([BAD_SIGNATURE, GOOD, GOOD])
    await waitUntil(async () => (await codes(second)).join() === BAD_SIGNATURE.join(), 20_000, 100)
    expect(await codes(third)).toEqual(GOOD)
    const fourth = (await resetSecret(here.deps, dealer.tenantId, { graceMs: 3_600_000 }, OPERATOR)).appSecret
    await resetSecret(here.deps, dealer.tenantId, { graceMs: 0 }, OPERATOR)
    expect([await codes(third), await codes(fourth)]).toEqual([BAD_SIGNATURE, BAD_SIGNATURE])
  })

  it('a suspended tenant is refused, and a resumed tenant is accepted', async () => {
    await knownDealer()
    for (let i = 0; i < 3; i++) {
      await suspendTenant(here.deps, dealer.tenantId, OPERATOR)
      expect(await codes()).toEqual(['101005', '101005'])
      await resumeTenant(here.deps, dealer.tenantId, OPERATOR)
      expect(await codes()).toEqual(GOOD)
    }
  })

  it('a changed allowlist excludes or readmits an address', async () => {
    await knownDealer()
    for (const ipAllowlist of [['203.0.113.0/24'], ['127.0.0.0/8'], ['::1'], []]) {
      await changeSettings(here.deps, dealer.tenantId, { ipAllowlist }, OPERATOR)
      const isOpen = ipAllowlist.length === 0 || ipAllowlist[0] === '127.0.0.0/8'
      expect(await codes()).toEqual(isOpen ? GOOD : ['101002', '101002'])
    }
  })

  it('a changed QPS limit is reported', async () => {
    await knownDealer()
    await changeSettings(here.deps, dealer.tenantId, { qpsLimit: 7 }, OPERATOR)
    await here.deps.db.query({
      text: `update qps_buckets set tokens = 0, refilled_at = now() + interval '1 hour' where tenant_id = $1`,
      values: [dealer.tenantId],
    })
    const answers = await Promise.all(
      [here, frozenNode].map((node) => call(node, dealer, 'health', { headers: forwarded('127.0.0.1') })),
    )
    expect(answers.map(({ code, headers }) => [code, headers['ratelimit-limit']])).toEqual([
      ['101007', '7'],
      ['101007', '7'],
    ])
  })

  it('a change is seen by every request that begins after it, even under load', async () => {
    await knownDealer()
    let isOn = true
    const said: { sentAt: number; secret: string; code: string }[] = []
    const secrets = [{ secret: dealer.appSecret, from: performance.now() }]
    const callers = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; isOn; n++) {
        // Sometimes with the previous secret, which must no longer work.
        const { secret } = n % 5 === 4 && secrets.length > 1 ? secrets.at(-2)! : secrets.at(-1)!
        const sentAt = performance.now()
        // Each from a different address, because failures are limited by address.
        const parts = { secret, headers: forwarded(`10.1.${i}.${n % 250}`) }
        const { code } = await call(i % 2 ? here : frozenNode, dealer, 'health', parts)
        if (code !== '101007') said.push({ sentAt, secret, code })
      }
    })
    for (let i = 0; i < 40; i++) {
      const heard = said.length
      const { appSecret } = await resetSecret(here.deps, dealer.tenantId, { graceMs: 0 }, OPERATOR)
      const doneAt = performance.now()
      secrets.push({ secret: appSecret, from: doneAt })
      await waitUntil(async () => said.length >= heard + 16)
    }
    isOn = false
    await Promise.all(callers)
    const spans = new Map(
      secrets.map((span, i) => [span.secret, { ...span, end: secrets[i + 1]?.from ?? Number.POSITIVE_INFINITY }]),
    )
    const late = said.filter(({ secret, sentAt }) => sentAt > spans.get(secret)!.end)
    expect(new Set(late.map(({ code }) => code))).toEqual(new Set(['101003']))
    expect(said.filter(({ code }) => code === '000000').length).toBeGreaterThan(20)
  })
})

describe('two gateway processes, one of which receives no notifications', () => {
  it('both apply a reset secret and a suspension from the next request on', async () => {
    const env = { ...NODE_ENV, ...ENV }
    const frozen = proxy.frozenCount
    const processes = await Promise.all(
      [database.url, proxy.url].map((databaseUrl) => startGateway({ databaseUrl, role: 'api', env })),
    )
    expect(new Set([process.pid, ...processes.map(({ pid }) => pid)]).size).toBe(3)
    await waitUntil(async () => proxy.frozenCount === frozen + 1)
    dealer = await addDealer(here.deps)
    let { appSecret } = dealer
    for (let i = 0; i < 5; i++) {
      expect(await codes(appSecret, processes)).toEqual(GOOD)
      const old = appSecret
      appSecret = (await resetSecret(here.deps, dealer.tenantId, { graceMs: 0 }, OPERATOR)).appSecret
      expect(await codes(old, processes)).toEqual(BAD_SIGNATURE)
      expect(await codes(appSecret, processes)).toEqual(GOOD)
      await suspendTenant(here.deps, dealer.tenantId, OPERATOR)
      expect(await codes(appSecret, processes)).toEqual(['101005', '101005'])
      await resumeTenant(here.deps, dealer.tenantId, OPERATOR)
    }
  })
})
