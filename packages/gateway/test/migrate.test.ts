import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrate } from '../src/lib/postgres/migrate.ts'
import { StartRefused } from '../src/lib/process/lifecycle.ts'
import { packageRoot } from '../src/lib/process/package-root.ts'
import { silentLog } from '../src/lib/telemetry/log.ts'
import { createEmptyDatabase, type TestDatabase } from './harness/database.ts'
import { startTcpProxy } from './harness/database-proxies.ts'

const log = silentLog
const directory = mkdtempSync(join(tmpdir(), 'dealer-esim-migrations-'))
let database: TestDatabase

beforeEach(async () => {
  database = await createEmptyDatabase()
  rmSync(directory, { recursive: true, force: true })
  cpSync(join(packageRoot(), 'migrations'), directory, { recursive: true })
})
afterEach(() => database.drop())
afterAll(() => rmSync(directory, { recursive: true, force: true }))

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Brings the database to a release that had only the files before this one. */
async function migrateBefore(number: string): Promise<void> {
  for (const name of readdirSync(directory).filter((name) => name >= number)) rmSync(join(directory, name))
  await migrate({ databaseUrl: database.url, log, directory })
}

/** And from there to this one. */
async function migrateOn(): Promise<void> {
  cpSync(join(packageRoot(), 'migrations'), directory, { recursive: true })
  await migrate({ databaseUrl: database.url, log, directory })
}

/** Takes connections and answers none. */
async function silentServer() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => void server.close() }
}

describe('migrating', () => {
  it('runs each file once, in order, and records it', async () => {
    const first = await migrate({ databaseUrl: database.url, log, directory })
    expect(first[0]).toBe('0001_core.sql')
    expect(await migrate({ databaseUrl: database.url, log, directory })).toEqual([])
    const rows = await query('select name from schema_migrations order by version')
    expect(rows.map((row) => row.name)).toEqual(first)
  })

  it('is done once when several connections start at once', async () => {
    const ran = await Promise.all(
      Array.from({ length: 4 }, () => migrate({ databaseUrl: database.url, log, directory })),
    )
    expect(ran.filter((names) => names.length > 0)).toHaveLength(1)
  })

  it('refuses a file that changed after it ran, in a sentence', async () => {
    await migrate({ databaseUrl: database.url, log, directory })
    writeFileSync(join(directory, '0001_core.sql'), 'select 1;')
    await expect(migrate({ databaseUrl: database.url, log, directory })).rejects.toThrow(
      /^Migration 0001_core\.sql has changed since it ran on this database/,
    )
  })

  it('takes the same file with other line ends for the same', async () => {
    rmSync(directory, { recursive: true, force: true })
    const unix = mkdtempSync(directory)
    writeFileSync(join(unix, '0001_a.sql'), 'create table a (\n  x int\n);\n')
    await migrate({ databaseUrl: database.url, log, directory: unix })
    writeFileSync(join(unix, '0001_a.sql'), 'create table a (\r\n  x int\r\n);\r\n')
    expect(await migrate({ databaseUrl: database.url, log, directory: unix })).toEqual([])
    rmSync(unix, { recursive: true, force: true })
  })

  it('refuses a database that a newer release migrated', async () => {
    writeFileSync(join(directory, '0001_other.sql'), 'select 1;')
    await expect(migrate({ databaseUrl: database.url, log, directory })).rejects.toThrow(/each has its own number/)
    rmSync(join(directory, '0001_other.sql'))
    await migrate({ databaseUrl: database.url, log, directory })
    await query(`insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', '')`)
    await expect(migrate({ databaseUrl: database.url, log, directory })).rejects.toThrow(
      /This database is newer than this release: it has 9999_future\.sql/,
    )
  })

  it('refuses a file that would have to run before one that ran already', async () => {
    rmSync(directory, { recursive: true, force: true })
    const late = mkdtempSync(directory)
    writeFileSync(join(late, '0002_b.sql'), 'create table b (x int);')
    await migrate({ databaseUrl: database.url, log, directory: late })
    writeFileSync(join(late, '0001_a.sql'), 'create table a (x int);')
    await expect(migrate({ databaseUrl: database.url, log, directory: late })).rejects.toThrow(
      'Migration 0001_a.sql comes before 0002_b.sql, which ran on this database already. Give it a later number.',
    )
    rmSync(late, { recursive: true, force: true })
  })

  it('leaves nothing of a file that failed', async () => {
    rmSync(directory, { recursive: true, force: true })
    const broken = mkdtempSync(directory)
    writeFileSync(join(broken, '0001_a.sql'), 'create table a (x int);')
    writeFileSync(join(broken, '0002_b.sql'), 'create table b (x int); select nonsense;')
    await expect(migrate({ databaseUrl: database.url, log, directory: broken })).rejects.toThrow(/0002_b\.sql failed/)
    const tables = await query(`select tablename from pg_tables where schemaname = 'public' order by 1`)
    expect(tables.map((row) => row.tablename)).toEqual(['a', 'schema_migrations'])
    rmSync(broken, { recursive: true, force: true })
  })

  it('names cancelled replays in the audit log as everything else, also those of earlier releases', async () => {
    await migrateBefore('0023')
    await query(`insert into audit_log (tenant_id, audit_id, actor, action)
      select gen_random_uuid(), gen_random_uuid(), 'system', action
      from unnest('{webhook.replay-cancel,webhook.replay}'::text[]) as action`)
    await migrateOn()
    const rows = await query('select action from audit_log order by action')
    expect(rows.map((row) => row.action)).toEqual(['webhook.cancel_replay', 'webhook.replay'])
  })

  it('takes along what earlier releases have not delivered, in partitions like those of the events', async () => {
    await migrateBefore('0025')
    const id = (number: number) => `0190000${number}-0000-7000-8000-000000000000`
    const range = `for values from ('${id(0)}') to ('${id(9)}')`
    await query(`create table events_168 partition of events ${range} with (fillfactor = 45)`)
    const states = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT']
    for (const [number, state] of states.entries()) {
      await query(`insert into events (tenant_id, notify_id, notify_type, order_id, content, created_at, delivery_state,
          due_at, attempts, lease_token, lease_until)
        values ('${id(1)}', '${id(number)}', 'ORDER_PAID', '${id(2)}', '{"sequence":1}', now(), '${state}',
          ${state === 'PENDING' ? `'2026-11-01T00:00:00Z', 2, '${id(3)}', now()` : 'null, 11, null, null'})`)
    }
    await migrateOn()
    expect(await query('select notify_id, content from events order by 1')).toEqual(
      states.map((_, number) => ({ notifyId: id(number), content: { sequence: 1 } })),
    )
    expect(
      await query(`select tableoid::regclass::text as part, notify_id, delivery_state, due_at, attempts, turn
                   from deliveries order by notify_id`),
    ).toEqual(
      [
        [0, 'PENDING', new Date('2026-11-01T00:00:00Z'), 2],
        [2, 'DEAD', null, 11],
        [3, 'UNSENT', null, 11],
      ].map(([number, deliveryState, dueAt, attempts]) => {
        const notifyId = id(number as number)
        return { part: 'deliveries_168', notifyId, deliveryState, dueAt, attempts, turn: '0' }
      }),
    )
    const [storage] = await query(`select e.reloptions as event, d.reloptions as delivery, 
        pg_get_expr(e.relpartbound, e.oid) = pg_get_expr(d.relpartbound, d.oid) as alike
      from pg_class e, pg_class d where e.relname = 'events_168' and d.relname = 'deliveries_168'`)
    expect(storage).toEqual({
      event: null,
      delivery: ['autovacuum_vacuum_cost_delay=0'],
      alike: true,
    })
  })

  it('asks about what earlier releases watch at the supplier that it was watched for', async () => {
    await migrateBefore('0027')
    const id = '01900001-0000-7000-8000-000000000000'
    await query(`set session_replication_role = replica;
      insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier,
        product_code, updated_at)
      select '${id}', '${id}', n, 0, 'P', 1, 'REFUSED', case when n < 3 then 'second' end, 'S', now()
      from generate_series(1, 3) as n;
      insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets, esim_status,
        total_duration, duration_unit, created_at, updated_at)
      values ('${id}', '${id}', '${id}', 2, 'first', '8985', 'a', '', 'GOT_RESOURCE', 7, 'DAY', now(), now());
      insert into watched_items (tenant_id, order_id, item_no, purpose, ask_at, until)
      select '${id}', '${id}', n, case n when 2 then 'CANCEL' else 'REFUNDED_IN_DOUBT' end, now(), now()
      from generate_series(1, 3) as n`)
    await migrateOn()
    expect(await query('select item_no, supplier, product_code from watched_items order by 1')).toEqual([
      { itemNo: 1, supplier: 'second', productCode: 'S' },
      { itemNo: 2, supplier: 'first', productCode: 'S' },
    ])
  })

  it('refuses a database that is not in UTF-8', async () => {
    const ascii = await createEmptyDatabase('SQL_ASCII')
    await expect(migrate({ databaseUrl: ascii.url, log, directory })).rejects.toThrow(
      /^The database is encoded in SQL_ASCII; create it with encoding UTF8\.$/,
    )
    await ascii.drop()
  })

  it.each([
    ['that is away', async () => ({ port: 1, close() {} }), 'connect ECONNREFUSED 127.0.0.1:1'],
    ['that says nothing', silentServer, 'timeout expired'],
  ])('gives up on a server %s, in a sentence', async (_, open, expected) => {
    const server = await open()
    await expect(migrate({ databaseUrl: `postgres://u:secret@127.0.0.1:${server.port}/d`, log })).rejects.toThrow(
      new StartRefused(
        `Cannot connect to the database: ${expected}. Check the host and port in DATABASE_URL, and that the server runs ` +
          'and accepts connections from this machine.',
      ),
    )
    server.close()
  })

  it('refuses a server that is older than 15, and changes nothing there', async () => {
    const [server] = await query(`select current_setting('server_version_num') as number`)
    const older = String(server!.number).replace(/^\d\d/, '14')
    // Latin-1: a byte is a letter, and the lengths that the protocol told stay true.
    const proxy = await startTcpProxy(database.url, (said) =>
      Buffer.from(said.toString('latin1').replaceAll(String(server!.number), older), 'latin1'),
    )
    await expect(migrate({ databaseUrl: proxy.url, log, directory })).rejects.toThrow(
      /^PostgreSQL 15 or newer is needed; this server is .+\.$/,
    )
    expect(await query(`select tablename from pg_tables where schemaname = 'public'`)).toEqual([])
    await proxy.close()
  })
})
