import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MigrationRefused, migrate } from '@dealer-esim/lib/postgres/migrations.ts'
import { RELEASE } from '@dealer-esim/lib/process/release.ts'
import { StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { migrationsFolder } from '#platform/package-root.ts'
import { createEmptyDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startTcpProxy } from '../harness/databases/database-proxies.ts'

const log = silentLog
const directory = mkdtempSync(join(tmpdir(), 'dealer-esim-migrations-'))
let database: TestDatabase

beforeEach(async () => {
  database = await createEmptyDatabase()
  rmSync(directory, { recursive: true, force: true })
  cpSync(migrationsFolder(), directory, { recursive: true })
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

/** Accepts connections but never responds. */
async function silentServer() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, close: () => void server.close() }
}

describe('migrating', () => {
  it('runs each file once and in order, and records each run', async () => {
    const first = await migrate({ databaseUrl: database.url, log, directory })
    expect(first[0]).toBe('0001_deployment.sql')
    expect(await migrate({ databaseUrl: database.url, log, directory })).toEqual([])
    const rows = await query('select name from schema_migrations order by version')
    expect(rows.map((row) => row.name)).toEqual(first)
  })

  it('happens only once if several connections start it simultaneously', async () => {
    const ran = await Promise.all(
      Array.from({ length: 4 }, () => migrate({ databaseUrl: database.url, log, directory })),
    )
    expect(ran.filter((names) => names.length > 0)).toHaveLength(1)
  })

  it('refuses a database if a file that ran on it has since changed, and says how to proceed', async () => {
    const file = join(directory, '0001_deployment.sql')
    writeFileSync(file, `${readFileSync(file, 'utf8')}select 1;`)
    await migrate({ databaseUrl: database.url, log, directory })
    const before = await query('select * from schema_migrations order by version')
    await expect(migrate({ databaseUrl: database.url, log, directory: migrationsFolder() })).rejects.toThrow(
      new MigrationRefused(
        'Migration 0001_deployment.sql is not the one that ran on this database. Released migrations never change: undo the change to the file, and append a migration instead. If a development version created the database, delete its data directory or create a new database.',
      ),
    )
    expect(await query('select * from schema_migrations order by version')).toEqual(before)
  })

  it('refuses a database whose files have different numbers', async () => {
    renameSync(join(directory, '0018_supplier_statements.sql'), join(directory, '0017_supplier_statements.sql'))
    await migrate({ databaseUrl: database.url, log, directory })
    await expect(migrate({ databaseUrl: database.url, log, directory: migrationsFolder() })).rejects.toThrow(
      /^This database ran 0017_supplier_statements\.sql, which \d+\.\d+\.\d+.* does not have\. If a development version created/,
    )
  })

  it('treats a file with different line endings as unchanged', async () => {
    rmSync(directory, { recursive: true, force: true })
    const unix = mkdtempSync(directory)
    writeFileSync(join(unix, '0001_a.sql'), 'create table a (\n  x int\n);\n')
    await migrate({ databaseUrl: database.url, log, directory: unix })
    writeFileSync(join(unix, '0001_a.sql'), 'create table a (\r\n  x int\r\n);\r\n')
    expect(await migrate({ databaseUrl: database.url, log, directory: unix })).toEqual([])
    rmSync(unix, { recursive: true, force: true })
  })

  describe('a schema from a later release', () => {
    const thirdFolder = `${directory}-third`
    beforeEach(() => {
      cpSync(migrationsFolder(), thirdFolder, { recursive: true })
      for (const number of [9001, 9002]) {
        writeFileSync(join(thirdFolder, `${number}_later.sql`), `create table later_${number} (x int);`)
      }
    })
    afterEach(() => rmSync(thirdFolder, { recursive: true, force: true }))
    const migrateAs = (release: number, folder: string) =>
      migrate({
        ...{ databaseUrl: database.url, log, directory: folder },
        release: { release, label: `0.${release}.0 (0123abcd)` },
      })

    it('is accepted and left as it is if it is one release ahead, however many migrations it has', async () => {
      expect((await migrateAs(3, thirdFolder)).slice(-2)).toEqual(['9001_later.sql', '9002_later.sql'])
      const before = await query('select * from schema_migrations order by version')
      expect(await migrateAs(2, directory)).toEqual([])
      expect(await query('select * from schema_migrations order by version')).toEqual(before)
      expect(await query('select release, label from schema_releases order by 1')).toEqual([
        { release: 2, label: '0.2.0 (0123abcd)' },
        { release: 3, label: '0.3.0 (0123abcd)' },
      ])
      expect(await migrateAs(3, thirdFolder)).toEqual([])
    })

    it('is refused if it is two releases ahead, with a message that names both releases', async () => {
      await migrateAs(3, thirdFolder)
      await expect(migrateAs(1, directory)).rejects.toThrow(
        new MigrationRefused(
          'This database was upgraded to release 3, 0.3.0 (0123abcd); this is release 1, 0.1.0 (0123abcd). A release runs on its own schema and on that of the next release. Start release 2 or 3, or restore a backup that was made before the upgrade (docs/upgrading.md). The database names no backup.',
        ),
      )
      await query(
        `insert into backups values (gen_random_uuid(), '2026-11-28T03:00:09Z', now(), '/var/backups/a.backup', 1, true, 'cli:root')`,
      )
      await expect(migrateAs(1, directory)).rejects.toThrow(
        'The last one that the database names is /var/backups/a.backup of 2026-11-28 03:00 UTC.',
      )
    })

    it('is refused if it is two releases ahead, even without an additional migration', async () => {
      await migrateAs(3, directory)
      await expect(migrateAs(1, directory)).rejects.toThrow(/^This database was upgraded to release 3, /)
    })
  })

  it('refuses two files with one number, and a recorded file that no known release contains', async () => {
    writeFileSync(join(directory, '0001_other.sql'), 'select 1;')
    await expect(migrate({ databaseUrl: database.url, log, directory })).rejects.toThrow(/each has its own number/)
    rmSync(join(directory, '0001_other.sql'))
    await migrate({ databaseUrl: database.url, log, directory })
    await query(`insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', '')`)
    const refusal =
      /^This database is newer than this release: it has 9999_future\.sql, which \d+\.\d+\.\d+( \([0-9a-f]{8}\))? lacks\. Start the newer release again, or restore the backup that was made before the upgrade \(docs\/upgrading\.md\)\.$/
    await expect(migrate({ databaseUrl: database.url, log, directory })).rejects.toThrow(refusal)
  })

  it('refuses a file that precedes a file that has already run', async () => {
    rmSync(directory, { recursive: true, force: true })
    const late = mkdtempSync(directory)
    writeFileSync(join(late, '0002_b.sql'), 'create table b (x int);')
    await migrate({ databaseUrl: database.url, log, directory: late })
    writeFileSync(join(late, '0001_a.sql'), 'create table a (x int);')
    await expect(migrate({ databaseUrl: database.url, log, directory: late })).rejects.toThrow(
      'Migration 0001_a.sql comes before 0002_b.sql, which has already run on this database. Give it a later number.',
    )
    rmSync(late, { recursive: true, force: true })
  })

  it('leaves no trace of a failed file', async () => {
    rmSync(directory, { recursive: true, force: true })
    const broken = mkdtempSync(directory)
    writeFileSync(join(broken, '0001_a.sql'), 'create table a (x int);')
    writeFileSync(join(broken, '0002_b.sql'), 'create table b (x int); select nonsense;')
    await expect(migrate({ databaseUrl: database.url, log, directory: broken })).rejects.toThrow(/0002_b\.sql failed/)
    const tables = await query(`select tablename from pg_tables where schemaname = current_schema() order by 1`)
    expect(tables.map((row) => row.tablename)).toEqual(['a', 'schema_migrations', 'schema_releases'])
    // The release before finds the file that ran, and who ran it.
    expect(await query('select name, release from schema_migrations, schema_releases')).toEqual([
      { name: '0001_a.sql', release: RELEASE },
    ])
    rmSync(broken, { recursive: true, force: true })
  })

  it('waits for a table that a transaction uses, without blocking its readers meanwhile', async () => {
    rmSync(directory, { recursive: true, force: true })
    const waiting = mkdtempSync(directory)
    writeFileSync(join(waiting, '0001_a.sql'), 'create table a (x int);')
    await migrate({ databaseUrl: database.url, log, directory: waiting })
    writeFileSync(join(waiting, '0002_b.sql'), 'alter table a add column y int;')
    const reader = new pg.Client({ connectionString: database.url })
    await reader.connect()
    await reader.query('begin; select from a')
    let migrating: Promise<string[]> | undefined
    // Then it stops waiting for the lock, behind which others would wait.
    await new Promise<void>((resolve) => {
      migrating = migrate({ databaseUrl: database.url, log: { ...log, warn: () => resolve() }, directory: waiting })
    })
    expect(await query('select x from a')).toEqual([])
    await reader.query('commit')
    expect(await migrating).toEqual(['0002_b.sql'])
    await reader.end()
    rmSync(waiting, { recursive: true, force: true })
  })

  it('runs one statement at a time, even with semicolons in quotes and comments', async () => {
    rmSync(directory, { recursive: true, force: true })
    const quoting = mkdtempSync(directory)
    writeFileSync(
      join(quoting, '0001_a.sql'),
      `-- first; a comment
      create table a as select query from pg_stat_activity where pid = pg_backend_pid(); -- its own text
      create table b (x text default 'it''s; one', "y;" int); /* a; b */
      create function c() returns int language plpgsql as $body$ begin perform 1; return 2; end; $body$;
      do $$ begin insert into b values ('a'); insert into b values (default); end $$`,
    )
    await migrate({ databaseUrl: database.url, log, directory: quoting })
    expect(await query('select query from a')).toEqual([
      { query: expect.stringMatching(/create table a as .*pg_backend_pid\(\)$/) },
    ])
    expect(await query('select x, c() from b order by x')).toEqual([
      { x: 'a', c: 2 },
      { x: "it's; one", c: 2 },
    ])
    rmSync(quoting, { recursive: true, force: true })
  })

  it('refuses a database that is not in UTF-8', async () => {
    const ascii = await createEmptyDatabase('SQL_ASCII')
    await expect(migrate({ databaseUrl: ascii.url, log, directory })).rejects.toThrow(
      /^The database is encoded in SQL_ASCII; create it with encoding UTF8\.$/,
    )
    await ascii.drop()
  })

  it.each([
    ['that is not running', async () => ({ port: 1, close() {} }), 'connect ECONNREFUSED 127.0.0.1:1'],
    ['that does not respond', silentServer, 'timeout expired'],
  ])('gives up on a server %s with a message', async (_, open, expected) => {
    const server = await open()
    await expect(
      migrate({ databaseUrl: `postgres://u:secret@127.0.0.1:${server.port}/d`, log, directory }),
    ).rejects.toThrow(
      new StartRefused(
        `Cannot connect to the database: ${expected}. Check the host and port in DATABASE_URL, and that the server runs ` +
          'and accepts connections from this machine.',
      ),
    )
    server.close()
  })

  it('refuses a server older than version 15 without changing the server', async () => {
    const [server] = await query(`select current_setting('server_version_num') as number`)
    const older = String(server!.number).replace(/^\d\d/, '14')
    // Latin-1 maps bytes to characters one to one, so the lengths in the protocol stay correct.
    const proxy = await startTcpProxy(database.url, (said) =>
      Buffer.from(said.toString('latin1').replaceAll(String(server!.number), older), 'latin1'),
    )
    await expect(migrate({ databaseUrl: proxy.url, log, directory })).rejects.toThrow(
      /^PostgreSQL 15 or newer is needed; this server is .+\.$/,
    )
    expect(await query(`select tablename from pg_tables where schemaname = current_schema()`)).toEqual([])
    await proxy.close()
  })

  it('creates its tables in its own schema, next to another gateway’s tables', async () => {
    const of = (schema: string) => migrate({ databaseUrl: database.url, schema, log, directory })
    const [first, second] = await Promise.all([of('cell_one'), of('user')])
    expect(second).toEqual(first)
    expect(await of('cell_one')).toEqual([])
    const tables = await query(`select schemaname, count(*)::int from pg_tables
      where schemaname in ('cell_one', 'user', 'public') group by 1 order by 1`)
    expect(tables).toEqual([
      { schemaname: 'cell_one', count: expect.any(Number) },
      { schemaname: 'user', count: tables[0]!.count },
    ])
  })

  it('says what to do if it may not create the schema or its tables', async () => {
    const user = `${new URL(database.url).pathname.slice(1)}_guest`
    await query(`create role ${user} login password 'guest'`)
    try {
      const url = new URL(database.url)
      url.username = user
      url.password = 'guest'
      const migrating = () => migrate({ databaseUrl: url.href, schema: 'cell_one', log, directory })
      await expect(migrating()).rejects.toThrow(
        `The schema cell_one does not exist, and ${user} may not create it. As the database's owner: create schema "cell_one" authorization ${user}.`,
      )
      await query('create schema cell_one')
      await expect(migrating()).rejects.toThrow(
        `${user} may not create tables. As its owner: grant create on schema cell_one to ${user}.`,
      )
      await expect(migrating()).rejects.toBeInstanceOf(StartRefused)
    } finally {
      await query(`drop role ${user}`)
    }
  })
})

/** If the Citus library is loaded, it would regard the database as one of its own. */
const isOnCitus = inject('testServer').workers.length > 0

describe.skipIf(isOnCitus)('a schema that Citus distributes', () => {
  /** Makes the database look as if Citus were installed, as far as migrate checks. */
  async function distribute(schema: string, version: string): Promise<void> {
    await query(`
      insert into pg_extension values (90000, 'citus', 10, 'pg_catalog'::regnamespace, false, '${version}');
      create schema ${schema};
      create table ${schema}.pg_dist_schema as select '${schema}'::regnamespace::oid as schemaid`)
  }
  const migrateIn = (schema: string, isProduction: boolean) =>
    migrate({ databaseUrl: database.url, schema, isProduction, log, directory })

  it('is accepted in production with a tested Citus release', async () => {
    await distribute('cell_one', '13.2-1')
    expect(await migrateIn('cell_one', true)).not.toEqual([])
  })

  it('is refused in production with any other Citus release, without creating anything', async () => {
    await distribute('cell_one', '14.0-1')
    await expect(migrateIn('cell_one', true)).rejects.toThrow(
      new StartRefused(
        'DATABASE_SCHEMA is distributed by Citus 14.0-1. A production deployment must use Citus 13, the version that was tested (docs/scaling.md).',
      ),
    )
    expect(await query(`select tablename from pg_tables where schemaname = 'cell_one'`)).toEqual([
      { tablename: 'pg_dist_schema' },
    ])
    expect(await migrateIn('cell_one', false)).not.toEqual([])
  })
})
