import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRunningPostgres } from '@dealer-esim/embedded-postgres'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { putPackages } from '#catalogue/packages/put-packages.ts'
import { resumeTenant, suspendTenant } from '#tenants/change-tenant.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, NODE_ENV, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { packageInput } from '#test/harness/catalogue-testbed.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { type PostgresProxy, startPostgresProxy } from '#test/harness/databases/database-proxies.ts'
import { startGateway, startUsedGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { addPackages } from '#test/http/dealer/api-fixture.ts'

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
  it('is refused the second time, even on another node, with another timestamp or for another operation', async () => {
    const parts = { requestId: randomUUID(), timestamp: Date.now() - 60_000 }
    expect(await code(parts)).toBe('000000')
    expect(await code(parts)).toBe('101006')
    expect(await code(parts, other)).toBe('101006')
    expect(await code({ ...parts, timestamp: Date.now() + 60_000 }, other)).toBe('101006')
    expect((await call(node, dealer, 'account/balance', parts)).code).toBe('101006')
    expect(await code({ ...parts, body: '{"another":"body"}' })).toBe('101006')
    expect(await code({ ...parts, requestId: parts.requestId.toUpperCase() })).toBe('101006')
  })

  it('may also be used by another tenant', async () => {
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

  it('is not used up by a request from a refused address or a suspended tenant', async () => {
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

  it('is used up by a request that is refused for the QPS limit or for its body', async () => {
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
  it('place one order and are admitted once over two gateway processes', async () => {
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

/* A database that takes over may lack the latest RequestIDs: admission does not wait for replication. */
describe('a RequestID lost in a database failover', () => {
  let proxy: PostgresProxy
  let behind: Node
  let own: Dealer

  beforeEach(async () => {
    proxy = await startPostgresProxy(database.url)
    behind = await startNode(proxy.url)
    own = await addDealer(node.deps)
    // The order's transaction loses the RequestIDs just before it enters them itself.
    await node.deps.db.query({
      text: `create or replace function lose_request_ids() returns trigger language plpgsql as
             $$ begin delete from request_ids where tenant_id = new.tenant_id; return new; end $$`,
    })
    await node.deps.db.query({
      text: 'create trigger lose_request_ids before insert on orders for each row execute function lose_request_ids()',
    })
  })
  afterEach(async () => {
    for (const table of ['orders', 'webhook_endpoints']) {
      await node.deps.db.query({ text: `drop trigger if exists lose_request_ids on ${table}` })
    }
    await behind.stop()
    await proxy.close()
  })

  /** Places an order, and sends its RequestID again. */
  async function placeTwice(): Promise<string> {
    const parts = newOrder()
    expect((await call(behind, own, 'esim/order', parts)).code).toBe('000000')
    return (await call(node, own, 'esim/order', parts)).code
  }

  it.each([
    ['lost', 'alone', 0],
    ['lost', 'among others', 20],
    ['unanswered', 'alone', 0],
    ['unanswered', 'among others', 20],
  ] as const)('is stored again with its order after the COMMIT was %s, %s', async (fault, _, others) => {
    proxy.failCommits('dealer-esim orders', fault)
    const busy = Array.from({ length: others }, () => code({}, behind))
    expect(await placeTwice()).toBe('101006')
    await Promise.all(busy)
    expect(proxy.faultCount).toBe(1)
  })

  it('is stored again with a top-up', async () => {
    const prices = [{ currencyCode: 'USD', price: 45_000, retailPrice: null }]
    const added = packageInput({ packageCode: 'JP_ADDED', packageType: 'TOPUP', status: 'ON_SALE', prices })
    await putPackages(node.deps, [added], OPERATOR)
    expect((await call(node, own, 'esim/order', newOrder())).code).toBe('000000')
    const [esim] = await node.deps.db.query<{ profileId: string }>({
      text: `insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets,
               esim_status, total_duration, duration_unit, created_at, updated_at)
             select tenant_id, gen_random_uuid(), order_id, 1, 'sandbox', '8985000000000000001', 'smdp.example', '',
               'GOT_RESOURCE', 7, 'DAY', now(), now()
             from orders where tenant_id = $1
             returning profile_id`,
      values: [own.tenantId],
    })
    const topUp = { transactionId: randomUUID(), esimTranNo: esim!.profileId, packageCode: 'JP_ADDED' }
    const parts = { requestId: randomUUID(), timestamp: Date.now(), body: JSON.stringify(topUp) }
    proxy.failCommits('dealer-esim orders', 'lost')
    expect((await call(behind, own, 'esim/topup', parts)).code).toBe('000000')
    expect((await call(node, own, 'esim/topup', parts)).code).toBe('101006')
  })

  it('is stored again with a changed webhook setting', async () => {
    await node.deps.db.query({
      text: 'create trigger lose_request_ids before update on webhook_endpoints for each row execute function lose_request_ids()',
    })
    const parts = { requestId: randomUUID(), body: JSON.stringify({ enabled: false }) }
    const lost = await call(node, own, 'webhook/set', parts)
    expect([lost.code, (await call(node, own, 'webhook/set', parts)).code]).toEqual(['000000', '101006'])
  })

  it.each([
    ['read under its lock', false],
    ['cached', true],
  ])(
    'is stored again by the first attempt on a connection newer than the request, with the wallet %s',
    async (_, isCached) => {
      if (isCached) expect((await call(behind, own, 'esim/order', newOrder())).code).toBe('000000')
      expect(await code({}, behind, own)).toBe('000000')
      const parts = newOrder()
      const lock = new pg.Client({ connectionString: database.url })
      await lock.connect()
      await lock.query('begin')
      await lock.query('select 1 from qps_buckets where tenant_id = $1 for update', [own.tenantId])
      // Behind another request, the order does not start before it is admitted.
      const waiting = code({}, behind, own)
      const placing = call(behind, own, 'esim/order', parts)
      await waitUntil(async () => {
        const { rowCount } = await lock.query(
          `select 1 from pg_stat_activity
         where application_name = 'dealer-esim admission' and wait_event_type = 'Lock' and datname = current_database()`,
        )
        return (rowCount ?? 0) > 0
      })
      const orderPool = behind.deps.pools.orders!
      let olderConnections = orderPool.totalCount
      orderPool.on('remove', () => olderConnections--)
      await lock.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
                        where application_name = 'dealer-esim orders' and datname = current_database()`)
      await waitUntil(() => Promise.resolve(olderConnections <= 0))
      await lock.query('rollback')
      await lock.end()
      expect(await waiting).toBe('000000')
      expect((await placing).code).toBe('000000')
      expect((await call(node, own, 'esim/order', parts)).code).toBe('101006')
    },
  )

  it('is not stored again on an older connection to the server that accepted it', async () => {
    const another = await addDealer(node.deps) // its order opens the connection, and leaves our wallet unread
    expect((await call(behind, another, 'esim/order', newOrder())).code).toBe('000000')
    expect(await placeTwice()).toBe('000000')
  })

  function newOrder() {
    const lines = [{ packageCode: 'JP_1_7', count: 1 }]
    const body = JSON.stringify({ transactionId: randomUUID(), packageInfoList: lines })
    return { requestId: randomUUID(), timestamp: Date.now(), body }
  }
})

describe('after a crash of gateway and database', () => {
  it('an accepted RequestID is refused, even if its request did not change anything', async () => {
    const first = await startUsedGateway({ env: { CONSOLE: 'off' } })
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

/** Sends SIGKILL to the gateway, the postmaster and every backend. */
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
