import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRunningPostgres } from '@dealer-esim/embedded-postgres'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resumeTenant, suspendTenant } from '../../src/tenants/change.ts'
import { changeSettings } from '../../src/tenants/settings.ts'
import { addPackages } from '../dealer-api/api-fixture.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startPostgresProxy } from '../harness/databases/proxies.ts'
import { startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

let database: TestDatabase
let node: Node
let other: Node
let dealer: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url)
  other = await startNode(database.url)
  dealer = await addDealer(node.deps)
  await addPackages(node)
})
afterAll(async () => {
  await Promise.all([node.stop(), other.stop(), stopGateways()])
  await database.drop()
})

async function code(parts: Parameters<typeof call>[3], at: { baseUrl: string } = node, by = dealer): Promise<string> {
  return (await call(at, by, 'health', parts)).code
}

describe('a RequestID', () => {
  it('is refused the second time: immediately, on the other node, with another timestamp, at another operation', async () => {
    const parts = { requestId: randomUUID(), timestamp: Date.now() - 60_000 }
    expect(await code(parts)).toBe('000000')
    expect(await code(parts)).toBe('101006')
    expect(await code(parts, other)).toBe('101006')
    expect(await code({ ...parts, timestamp: Date.now() + 60_000 }, other)).toBe('101006')
    expect((await call(node, dealer, 'account/balance', parts)).code).toBe('101006')
    expect(await code({ ...parts, body: '{"another":"body"}' })).toBe('101006')
    expect(await code({ ...parts, requestId: parts.requestId.toUpperCase() })).toBe('101006')
  })

  it('may be used by another tenant too', async () => {
    const requestId = randomUUID()
    expect(await code({ requestId })).toBe('000000')
    expect(await code({ requestId }, node, await addDealer(node.deps))).toBe('000000')
  })

  it('is not used up by a request with a wrong signature', async () => {
    const requestId = randomUUID()
    expect(await code({ requestId, secret: 'guessed' })).toBe('101003')
    expect(await code({ requestId, timestamp: Date.now() - 400_000 })).toBe('101001')
    expect(await code({ requestId }, other)).toBe('000000')
  })

  it('is not used up by a request from a refused address or of a suspended tenant', async () => {
    const requestId = randomUUID()
    const { deps } = node
    await changeSettings(deps, dealer.tenantId, { ipAllowlist: ['203.0.113.1'] }, OPERATOR)
    expect(await code({ requestId })).toBe('101002')
    await changeSettings(deps, dealer.tenantId, { ipAllowlist: [] }, OPERATOR)
    await suspendTenant(deps, dealer.tenantId, OPERATOR)
    expect(await code({ requestId }, other)).toBe('101005')
    await resumeTenant(deps, dealer.tenantId, OPERATOR)
    expect(await code({ requestId }, other)).toBe('000000')
  })

  it('is used up by a request that the QPS limit refuses, and by one whose body is refused', async () => {
    const slow = await addDealer(node.deps)
    await changeSettings(node.deps, slow.tenantId, { qpsLimit: 1 }, OPERATOR)
    await node.deps.db.query({
      text: `insert into qps_buckets values ($1, 0, 1, 1, 0, now() + interval '1 hour')`,
      values: [slow.tenantId],
    })
    const requestId = randomUUID()
    expect(await code({ requestId }, node, slow)).toBe('101007')
    expect(await code({ requestId }, other, slow)).toBe('101006')
    const malformed = randomUUID()
    expect(await code({ requestId: malformed, body: '[]' })).toBe('000104')
    expect(await code({ requestId: malformed })).toBe('101006')
  })
})

describe('a hundred identical concurrent requests', () => {
  it('place one order and are admitted once, over two gateway processes', async () => {
    const started = await Promise.all(
      [0, 1].map(() => startGateway({ databaseUrl: database.url, role: 'api', env: { ...NODE_ENV, PORT: '0' } })),
    )
    expect(started[0]!.pid).not.toBe(started[1]!.pid)
    const body = JSON.stringify({ transactionId: 'once', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    const parts = { requestId: randomUUID(), timestamp: Date.now(), body }
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => call(started[i % 2]!, dealer, 'esim/order', parts)),
    )
    const codes = answers.map((answer) => answer.code)
    expect(codes.filter((one) => one === '000000')).toHaveLength(1)
    expect(codes.filter((one) => one === '101006')).toHaveLength(99)
  })
})

/* A database that takes over may lack the latest RequestIDs: admission does not wait until they are replicated. */
describe('a RequestID that the database lost while it failed over', () => {
  it.each([
    ['lost', 'alone', 0],
    ['lost', 'among others', 20],
    ['unanswered', 'alone', 0],
    ['unanswered', 'among others', 20],
  ] as const)('is entered again with its order, whose COMMIT was %s, %s', async (fault, _, others) => {
    const proxy = await startPostgresProxy(database.url)
    const behind = await startNode(proxy.url)
    const own = await addDealer(node.deps)
    try {
      // The order's transaction loses the RequestIDs in the moment before it enters them itself.
      await node.deps.db.query({
        text: `create or replace function lose_request_ids() returns trigger language plpgsql as
               $$ begin delete from request_ids where tenant_id = new.tenant_id; return new; end $$`,
      })
      await node.deps.db.query({
        text: 'create trigger lose_request_ids before insert on orders for each row execute function lose_request_ids()',
      })
      proxy.failCommits('dealer-esim orders', fault)
      const body = JSON.stringify({ transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
      const parts = { requestId: randomUUID(), timestamp: Date.now(), body }
      const busy = Array.from({ length: others }, () => code({}, behind))
      expect((await call(behind, own, 'esim/order', parts)).code).toBe('000000')
      await Promise.all(busy)
      expect(proxy.faultCount).toBe(1)
      expect((await call(node, own, 'esim/order', parts)).code).toBe('101006')
    } finally {
      await node.deps.db.query({ text: 'drop trigger if exists lose_request_ids on orders' })
      await behind.stop()
      await proxy.close()
    }
  })
})

describe('after a crash of gateway and database', () => {
  it('an accepted RequestID is refused, whether its request changed something or only preceded one that did', async () => {
    const first = await startGateway({ env: { CONSOLE: 'off' } })
    const access = JSON.parse(readFileSync(join(first.dataDir, 'local.json'), 'utf8')) as Dealer
    const health = { requestId: randomUUID(), timestamp: Date.now() }
    const body = JSON.stringify({ transactionId: 'T-1', packageInfoList: [{ packageCode: 'SANDBOX_OK', count: 1 }] })
    const order = { requestId: randomUUID(), timestamp: Date.now(), body }
    expect((await call(first, access, 'health', health)).code).toBe('000000')
    const placed = await call(first, access, 'esim/order', order)
    expect(placed.code).toBe('000000')
    await killEverything(first.pid, first.dataDir)
    await first.exited

    const second = await startGateway({ dataDir: first.dataDir, env: { CONSOLE: 'off' } })
    expect((await call(second, access, 'health', health)).code).toBe('101006')
    expect((await call(second, access, 'esim/order', order)).code).toBe('101006')
    const again = await call(second, access, 'esim/order', { body })
    expect([again.code, again.headers['idempotent-replayed']]).toEqual(['000000', 'true'])
    expect(again.data.orderNo).toBe(placed.data.orderNo)
  })
})

/** SIGKILL for the gateway, the postmaster and every backend. */
async function killEverything(pid: number, dataDir: string): Promise<void> {
  const client = new pg.Client({ connectionString: readRunningPostgres(dataDir)!.url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()')
  const postmaster = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  for (const victim of [pid, postmaster, ...rows.map((row) => row.pid)]) {
    try {
      process.kill(victim, 'SIGKILL')
    } catch {
      // it ended with its postmaster
    }
  }
  await client.end().catch(() => {})
}
